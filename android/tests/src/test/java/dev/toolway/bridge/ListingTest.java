package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import dev.toolway.foreign.AsksFirst;
import dev.toolway.host.AuthorizationRequest;
import dev.toolway.host.ProviderRow;
import dev.toolway.phone.Manifests;
import java.util.concurrent.CompletableFuture;
import org.json.JSONObject;
import org.junit.Before;
import org.junit.Test;

/** Tests apps that require authorization before they list tools, and their authorization screens. */
public class ListingTest extends BridgeTest {
    private static final String PACKAGE = "com.example.careful";
    private static final String AUTHORITY = "com.example.careful.tools";
    private static final String ALLOW = "com.example.careful.ALLOW";

    @Before
    public void forget() {
        AsksFirst.allow(false);
        AsksFirst.name(ALLOW);
    }

    private void install() {
        phone.install(Manifests.apk(PACKAGE, "Careful", Manifests.cetp(".S", AsksFirst.class.getName(), AUTHORITY, "1")
            + screen(".AllowActivity", ALLOW, true)
            + "<activity android:name=\".Main\" android:exported=\"true\"><intent-filter>"
            + "<action android:name=\"android.intent.action.MAIN\" />"
            + "<category android:name=\"android.intent.category.LAUNCHER\" /></intent-filter></activity>"
            + screen(".HiddenActivity", "com.example.careful.HIDDEN", false)), "key of careful");
    }

    private static String screen(String name, String action, boolean exported) {
        return "<activity android:name=\"" + name + "\" android:exported=\"" + exported + "\"><intent-filter>"
            + "<action android:name=\"" + action + "\" /></intent-filter></activity>";
    }

    @Test
    public void an_app_without_tools_before_authorization_is_shown_and_listed_afterwards() {
        install();
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.AUTHORIZATION_REQUIRED);
        assertEquals("Not before you are asked", row.reason());
        assertEquals("Allow it in Careful", row.hint());
        awaitTools();
        AuthorizationRequest offered = shell().user().nextOffered();
        assertEquals(PACKAGE, offered.packageName());
        assertEquals(null, offered.tool());
        assertNothingOpened();

        shell().bridge().authorize(offered.authority());
        shell().user().nextAsked().agree();
        AuthorizationRequest opened = shell().user().nextOpened();
        assertOpened(PACKAGE, PACKAGE + ".AllowActivity");
        AsksFirst.allow(true);
        opened.returned();
        awaitTools("careful__read");
        assertEquals("read", success(call("careful__read")));
    }

    @Test
    public void the_gateway_knows_which_app_requires_authorization() throws Exception {
        install();
        shell().row(AUTHORITY, ProviderRow.State.AUTHORIZATION_REQUIRED);
        JSONObject report = awaitReport();
        JSONObject row = Json.rows(report, "providers").get(0);
        assertEquals(AUTHORITY, row.optString("authority"));
        assertEquals("authorization_required", row.optString("state"));
        assertEquals("Allow it in Careful", row.optString("hint"));
    }

    private JSONObject awaitReport() {
        JSONObject[] found = new JSONObject[1];
        Tools.await(gateway, "phone", tools -> {
            JSONObject device = gateway.owner().get("/api/devices/phone");
            found[0] = device.optJSONObject("app_provider_report");
            return found[0] != null && found[0].optJSONArray("providers") != null
                && found[0].optJSONArray("providers").length() > 0;
        });
        return found[0];
    }

    /** The authorization ends between listing and call. */
    private CompletableFuture<JSONObject> called(String intent) {
        AsksFirst.allow(true);
        AsksFirst.name(intent);
        install();
        shell();
        awaitTools("careful__read");
        AsksFirst.allow(false);
        return gateway.owner().called("phone__careful__read", new JSONObject(), null);
    }

    @Test
    public void without_an_authorization_screen_the_start_screen_opens() {
        CompletableFuture<JSONObject> called = called(null);
        AuthorizationRequest asked = shell().user().nextAsked();
        assertEquals(null, asked.action());
        asked.agree();
        AuthorizationRequest opened = shell().user().nextOpened();
        assertOpened(PACKAGE, PACKAGE + ".Main");
        AsksFirst.allow(true);
        opened.returned();
        assertEquals("read", success(called.join()));
    }

    @Test
    public void a_screen_of_another_app_is_never_opened_a5() {
        phone.install(Manifests.apk("com.example.bank", "Bank",
            screen(".TransferActivity", "com.example.bank.TRANSFER", true)));
        assertStartScreenOpens("com.example.bank.TRANSFER");
    }

    @Test
    public void a_screen_that_is_not_exported_is_not_opened_a5() {
        assertStartScreenOpens("com.example.careful.HIDDEN");
    }

    @Test
    public void an_authorize_intent_with_a_uri_opens_only_the_start_screen_a5() {
        assertStartScreenOpens(
            "intent://com.example.bank/#Intent;package=com.example.bank;action=com.example.bank.TRANSFER;end");
    }

    @Test
    public void an_authorize_intent_without_a_screen_opens_the_start_screen() {
        assertStartScreenOpens("com.example.careful.MISSPELLED");
    }

    /** Checks that an action that no screen of the app has opens its start screen, and nothing else. */
    private void assertStartScreenOpens(String action) {
        CompletableFuture<JSONObject> called = called(action);
        AuthorizationRequest asked = shell().user().nextAsked();
        assertEquals(action, asked.action());
        asked.agree();
        AuthorizationRequest opened = shell().user().nextOpened();
        assertOpened(PACKAGE, PACKAGE + ".Main");
        AsksFirst.allow(true);
        opened.returned();
        assertEquals("read", success(called.join()));
    }
}
