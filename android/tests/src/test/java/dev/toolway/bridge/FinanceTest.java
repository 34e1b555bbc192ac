package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.view.View;
import android.widget.Button;
import com.example.finance.AuthorizeActivity;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.foreign.HangsWhenCalled;
import dev.toolway.host.AuthorizationRequest;
import dev.toolway.host.ProviderRow;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import dev.toolway.provider.Grants;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.Test;
import org.robolectric.Robolectric;

/** The finance app of this checkout, from its real manifest, used over REST through the bridge. */
public class FinanceTest extends BridgeTest {
    private static final String PACKAGE = "com.example.finance";
    private static final String AUTHORITY = "com.example.finance.clawseed.tools";
    private static final String SCREEN = "com.example.finance.AuthorizeActivity";
    private static final String KEY = "key of finance";
    private static final String HOLDINGS = "finance__get_portfolio_holdings";
    private static final String TRANSACTIONS = "finance__get_transactions";

    private void install() {
        phone.install(apk(), KEY);
    }

    private static Path apk() {
        return Manifests.apk(Programs.source("android/samples/finance/src/main"));
    }

    private void allow() {
        assertTrue(new Grants(phone.app()).allow(phone.app().getPackageName(), Grants.NO_END));
    }

    /** Installs the app, waits until it is found, and allows access. */
    private void installAllowed() {
        install();
        allow();
        shell();
        awaitTools(HOLDINGS, TRANSACTIONS);
    }

    @Test
    public void its_tools_have_its_prefix_and_are_listed() {
        install();
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.READY);
        assertEquals(List.of(HOLDINGS, TRANSACTIONS), row.tools());
        assertEquals("no remarks", List.of(), row.notes());
        assertEquals(1, row.version());
        assertEquals(Phone.ACCESS_TOOLS, row.permission());
        assertEquals("MyFinance", row.description().name());
        assertEquals("Personal finance data", row.description().description());
        assertEquals("holdings", row.description().scopes().get(0).name());
        assertEquals("Portfolio holdings", row.description().scopes().get(0).description());
        assertEquals("get_transactions", row.toolDetails().get(1).nameInApp());
        assertEquals("Get transaction history", row.toolDetails().get(1).description());
        awaitTools(HOLDINGS, TRANSACTIONS);
        JSONObject listed = gateway.owner().get("/api/tools/phone__" + HOLDINGS);
        assertEquals("phone/" + HOLDINGS, listed.optString("id"));
        JSONObject schema = listed.optJSONObject("parameters");
        assertEquals(Json.array("stock", "fund", "all").toString(), schema.optJSONObject("properties")
            .optJSONObject("account_type").optJSONArray("enum").toString());
        assertTrue("read-only", listed.optJSONObject("annotations").optBoolean("readOnlyHint"));
    }

    @Test
    public void its_data_is_available_over_rest() {
        installAllowed();
        JSONObject result = (JSONObject) success(call(HOLDINGS, "account_type", "stock"));
        JSONArray holdings = result.optJSONArray("holdings");
        assertTrue(result.toString(), holdings.length() > 0);
        for (JSONObject holding : Json.rows(result, "holdings")) {
            assertTrue(holding.toString(), holding.has("symbol"));
            assertTrue(holding.toString(), holding.has("quantity"));
            assertTrue(holding.toString(), holding.has("cost_basis"));
            assertTrue(holding.toString(), holding.has("current_price"));
        }
        assertTrue("without a prompt", shell().user().wasLeftAlone());
    }

    @Test
    public void invalid_arguments_are_a_validation_error() {
        installAllowed();
        failure(call(HOLDINGS, "account_type", "cash"), "validation_error", "invalid_arguments");
        // Matches the schema, but the app rejects it.
        JSONObject outcome = failure(call(TRANSACTIONS, "start_date", "soon"), "validation_error", "invalid_arguments");
        assertTrue(outcome.toString(), outcome.optString("message").contains("/start_date"));
    }

    @Test
    public void a_call_waits_for_the_user_and_is_retried_once_a6() {
        install();
        shell();
        awaitTools(HOLDINGS, TRANSACTIONS);
        int before = phone.process(AUTHORITY).transactions();
        // Time for the question on a busy machine; the user must take longer.
        long timeout = 5_000;
        CompletableFuture<JSONObject> called =
            gateway.owner().called("phone__" + HOLDINGS, Json.of("account_type", "all"), timeout);
        AuthorizationRequest asked = shell().user().nextAsked();
        assertEquals(PACKAGE, asked.packageName());
        assertEquals("Finance", asked.label());
        assertEquals("get_portfolio_holdings", asked.tool());
        assertEquals("User has not authorized this data scope", asked.message());
        assertEquals("Please open the app to complete authorization", asked.hint());
        assertEquals("com.example.finance.ACTION_AUTHORIZE_CLAWSEED", asked.action());
        assertNothingOpened();
        assertTrue(asked.agree());
        AuthorizationRequest opened = shell().user().nextOpened();
        assertOpened(PACKAGE, SCREEN);
        // The user takes longer than the call's timeout. A hanging call times out meanwhile.
        hangFor(timeout + 500);
        assertFalse("the gateway's clock stands still", called.isDone());
        pressAllow();
        assertTrue(opened.returned());
        success(called.join());
        assertEquals("tried twice", before + 2, phone.process(AUTHORITY).transactions());
    }

    /** Calls a tool that never answers, and waits until the gateway cancels it. */
    private void hangFor(long millis) {
        phone.install(Manifests.apk("com.example.hung", "Hung", Manifests.cetp(".S",
            HangsWhenCalled.class.getName(), "com.example.hung.tools", "1")));
        Tools.await(gateway, "phone", tools -> tools.contains("phone__hung__wait"));
        failure(gateway.owner().called("phone__hung__wait", new JSONObject(), millis).join(), "timeout", "timeout");
        HangsWhenCalled.letGo();
    }

    /** The user presses "Allow" on the app's screen. */
    private static void pressAllow() {
        AuthorizeActivity activity = Robolectric.buildActivity(AuthorizeActivity.class).setup().get();
        ArrayList<View> found = new ArrayList<>();
        activity.getWindow().getDecorView().findViewsWithText(found, "Allow", View.FIND_VIEWS_WITH_TEXT);
        View button = found.stream().filter(Button.class::isInstance).findFirst().orElseThrow();
        assertTrue(button.performClick());
    }

    @Test
    public void a_user_who_returns_without_allowing_is_not_asked_again() {
        install();
        shell();
        awaitTools(HOLDINGS, TRANSACTIONS);
        CompletableFuture<JSONObject> called = gateway.owner().called("phone__" + HOLDINGS, new JSONObject(), null);
        shell().user().nextAsked().agree();
        shell().user().nextOpened().returned();
        JSONObject outcome = failure(called.join(), "permission_denied", "auth_required");
        assertEquals("Please open the app to complete authorization", outcome.optString("hint"));
        assertEquals("com.example.finance.ACTION_AUTHORIZE_CLAWSEED", outcome.optString("authorize_intent"));
        assertTrue("asked once", shell().user().wasLeftAlone());
        assertOpened(PACKAGE, SCREEN);
    }

    @Test
    public void no_app_is_opened_if_the_user_declines() {
        install();
        shell();
        awaitTools(HOLDINGS, TRANSACTIONS);
        int before = phone.process(AUTHORITY).transactions();
        CompletableFuture<JSONObject> called = gateway.owner().called("phone__" + HOLDINGS, new JSONObject(), null);
        shell().user().nextAsked().decline();
        failure(called.join(), "permission_denied", "auth_required");
        assertNothingOpened();
        assertEquals("tried once", before + 1, phone.process(AUTHORITY).transactions());
    }

    @Test
    public void an_abandoned_question_is_withdrawn() {
        install();
        start(options().consentTimeout(300));
        awaitTools(HOLDINGS, TRANSACTIONS);
        CompletableFuture<JSONObject> called = gateway.owner().called("phone__" + HOLDINGS, new JSONObject(), null);
        AuthorizationRequest asked = shell().user().nextAsked();
        failure(called.join(), "permission_denied", "auth_required");
        assertEquals(asked.question(), shell().user().nextWithdrawn());
        assertFalse("too late", asked.agree());
        assertNothingOpened();
    }

    @Test
    public void a_revoked_authorization_is_requested_again() {
        installAllowed();
        success(call(HOLDINGS));
        new Grants(phone.app()).revoke(phone.app().getPackageName());
        CompletableFuture<JSONObject> called = gateway.owner().called("phone__" + HOLDINGS, new JSONObject(), null);
        shell().user().nextAsked().decline();
        failure(called.join(), "permission_denied", "auth_required");
    }

    @Test
    public void a_call_without_the_permission_is_denied_once_and_opens_no_app_a4() {
        installAllowed();
        phone.deny(Phone.ACCESS_TOOLS);
        int before = phone.process(AUTHORITY).transactions();
        JSONObject outcome = failure(call(HOLDINGS), "permission_denied", "denied");
        assertTrue(outcome.toString(), outcome.optString("hint").contains(Phone.ACCESS_TOOLS));
        assertEquals("it was not reached", before, phone.process(AUTHORITY).transactions());
        assertTrue(shell().user().wasLeftAlone());
        assertNothingOpened();
    }

    @Test
    public void an_app_that_denies_is_called_once_and_not_opened_a4() {
        installAllowed();
        new Grants(phone.app()).deny(phone.app().getPackageName());
        int before = phone.process(AUTHORITY).transactions();
        failure(call(HOLDINGS), "permission_denied", "denied");
        assertEquals(before + 1, phone.process(AUTHORITY).transactions());
        assertTrue(shell().user().wasLeftAlone());
        assertNothingOpened();
    }

    @Test
    public void without_the_permission_at_the_start_the_app_is_shown_as_refused() {
        phone.deny(Phone.ACCESS_TOOLS);
        install();
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.REFUSED);
        assertTrue(row.reason(), row.reason().contains(Phone.ACCESS_TOOLS));
        awaitTools();
    }

    @Test
    public void replacing_a_package_replaces_its_tools() {
        installAllowed();
        phone.replace(Manifests.apk(PACKAGE, "Finance",
            Manifests.cetp(".ToolProviderService", FinanceByHand.class.getName(), AUTHORITY, "1")), KEY);
        awaitTools(HOLDINGS);
        success(call(HOLDINGS));
    }

    @Test
    public void removing_a_package_removes_its_tools() {
        installAllowed();
        phone.remove(PACKAGE);
        awaitTools();
        shell().noRow(AUTHORITY);
    }

    @Test
    public void a_package_installed_while_the_bridge_runs_is_found() {
        shell();
        awaitTools();
        install();
        awaitTools(HOLDINGS, TRANSACTIONS);
    }

    @Test
    public void a_name_is_persistent_and_never_given_to_another_signer() {
        installAllowed();
        String names = shell().keptNames();
        stopShell();
        phone.remove(PACKAGE);
        phone.install(apk(), "another key");
        start(options().names(names));
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.READY);
        assertTrue(row.prefix(), row.prefix().matches("finance_[0-9a-f]{6}"));
        phone.replace(apk(), KEY);
        shell().row(AUTHORITY, it -> "finance".equals(it.prefix()));
    }
}
