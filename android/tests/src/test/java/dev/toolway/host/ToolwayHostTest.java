package dev.toolway.host;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.os.Bundle;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import dev.toolway.phone.PlainContentProviderClient;
import dev.toolway.phone.StrictContentResolver;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;

/** Tests the host's answers to the native library, byte by byte if the format matters. */
@RunWith(RobolectricTestRunner.class)
@Config(shadows = {StrictContentResolver.class, PlainContentProviderClient.class})
public class ToolwayHostTest {
    private static final String AUTHORITY = "com.example.finance.clawseed.tools";
    private static final int DONE = 0;
    private static final int SECURITY = 1;
    private static final int UNKNOWN_AUTHORITY = 2;

    @Rule
    public final Phone phone = new Phone();

    private ToolwayHost host;

    @Before
    public void start() {
        host = new ToolwayHost(phone.app());
    }

    private void installFinance() {
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".ToolProviderService", FinanceByHand.class.getName(), AUTHORITY, "1")), "key of finance");
    }

    private Reader call(String method, Bundle extras) {
        Writer request = new Writer().text(AUTHORITY).text(method).flag(extras != null);
        if (extras != null) {
            request.bundle(extras);
        }
        return new Reader(host.call(request.toBytes()));
    }

    @Test
    public void a_declaration_is_reported_as_in_the_manifest_a3() {
        installFinance();
        Reader found = new Reader(host.discover(new Writer().flag(false).toBytes()));
        assertFalse("it failed", found.flag());
        assertEquals(1, found.integer());
        assertEquals("com.example.finance", found.text());
        assertEquals("Finance", found.textOrNone());
        // SHA-256 of the key's name, which replaces the certificate here.
        assertEquals("28e869c0eb105500b9cc238803d541f6d69ad24d18305ca73f45c7c198444ee4", found.textOrNone());
        assertEquals("com.example.finance.ToolProviderService", found.text());
        assertTrue("exported", found.flag());
        assertEquals("a CETP service", 0, found.kind());
        assertEquals("a text", Writer.TEXT, found.kind());
        assertEquals(AUTHORITY, found.text());
        assertEquals("an int", Writer.INT, found.kind());
        assertEquals(1, found.integer());
    }

    @Test
    public void a_call_gives_the_providers_answer() {
        installFinance();
        Reader answer = call("list_tools", null);
        assertEquals(DONE, answer.kind());
        assertTrue("there is an answer", answer.flag());
        Bundle bundle = answer.bundle();
        assertEquals("success", bundle.getString("status"));
        assertTrue(bundle.getString("data").contains("get_portfolio_holdings"));
    }

    @Test
    public void an_authority_without_a_provider_is_unknown() {
        assertEquals(UNKNOWN_AUTHORITY, call("list_tools", null).kind());
    }

    @Test
    public void a_missing_permission_is_reported() {
        installFinance();
        phone.deny(Phone.ACCESS_TOOLS);
        Reader answer = call("list_tools", null);
        assertEquals(SECURITY, answer.kind());
        assertTrue(answer.text().contains("requires com.clawseed.permission.ACCESS_TOOLS"));
        assertEquals(0, phone.process(AUTHORITY).transactions());
    }

    private boolean openAuthorization(String packageName, String action) {
        Reader reply = new Reader(host.openAuthorization(new Writer().text(packageName).text(action).toBytes()));
        assertEquals(DONE, reply.kind());
        return reply.flag();
    }

    @Test
    public void a_screen_of_an_app_is_opened_by_its_action() {
        phone.install(Manifests.apk("com.example.finance", "Finance", "<activity android:name=\".Allow\""
            + " android:exported=\"true\"><intent-filter><action android:name=\"com.example.ALLOW\" />"
            + "</intent-filter></activity>"));
        assertTrue(openAuthorization("com.example.finance", "com.example.ALLOW"));
    }

    @Test
    public void a_removed_package_can_be_installed_again() {
        installFinance();
        phone.remove("com.example.finance");
        installFinance();
        Reader found = new Reader(host.discover(new Writer().flag(false).toBytes()));
        assertEquals(DONE, found.kind());
        assertEquals(1, found.integer());
    }
}
