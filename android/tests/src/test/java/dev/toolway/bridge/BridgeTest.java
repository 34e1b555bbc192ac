package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import android.content.Intent;
import dev.toolway.host.BridgeOptions;
import dev.toolway.phone.Phone;
import dev.toolway.phone.PlainContentProviderClient;
import dev.toolway.phone.StrictContentResolver;
import java.util.Arrays;
import java.util.List;
import org.json.JSONObject;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.Shadows;
import org.robolectric.annotation.Config;

/**
 * A phone, a bridge on it and the real gateway. The bridge is the native library; apps are installed from real
 * manifests, and called as strictly as a phone does.
 */
@RunWith(RobolectricTestRunner.class)
@Config(shadows = {StrictContentResolver.class, PlainContentProviderClient.class})
public abstract class BridgeTest {
    @Rule
    public final Phone phone = new Phone();

    protected Gateway gateway;
    private Shell shell;

    @Before
    public void startGateway() {
        Shell.load();
        gateway = new Gateway(settings(), models());
    }

    @After
    public void stopAll() {
        if (shell != null) {
            shell.close();
        }
        gateway.close();
    }

    /** The text of the gateway's `toolway.toml`. */
    protected String settings() {
        return "";
    }

    /** The text of the gateway's `models.toml`. */
    protected String models() {
        return "";
    }

    /** Returns the bridge; starts it at the first call, as a device named "phone". */
    protected final Shell shell() {
        if (shell == null) {
            start(options());
        }
        return shell;
    }

    protected final BridgeOptions options() {
        return Shell.options(gateway, gateway.pairDevice(), "phone");
    }

    protected final Shell start(BridgeOptions options) {
        shell = new Shell(phone, options);
        return shell;
    }

    /** Stops the bridge; the next call starts a new one. */
    protected final void stopShell() {
        shell.close();
        shell = null;
    }

    /** Waits until the gateway lists exactly these tools of the phone, without its prefix. */
    protected final void awaitTools(String... names) {
        List<String> wanted = Arrays.stream(names).map(name -> "phone__" + name).sorted().toList();
        Tools.await(gateway, "phone", wanted::equals);
    }

    /** Calls a tool of the phone over REST. */
    protected final JSONObject call(String tool, Object... args) {
        return gateway.owner().call("phone__" + tool, Json.of(args));
    }

    /** Returns the result of a call that must succeed. */
    protected static Object success(JSONObject outcome) {
        assertEquals(outcome.toString(), "success", outcome.optString("status"));
        return outcome.opt("result");
    }

    /** Checks that a call failed with this error. */
    protected static JSONObject failure(JSONObject outcome, String type, String code) {
        assertEquals(outcome.toString(), "error", outcome.optString("status"));
        assertEquals(outcome.toString(), type, outcome.optString("error_type"));
        assertEquals(outcome.toString(), code, outcome.optString("code"));
        return outcome;
    }

    /** Checks that this screen was the last one to open, and opened once. */
    protected final void assertOpened(String packageName, String className) {
        Intent intent = Shadows.shadowOf(phone.app()).getNextStartedActivity();
        assertEquals(packageName + "/" + className,
            intent.getComponent().getPackageName() + "/" + intent.getComponent().getClassName());
        assertNothingOpened();
    }

    /** Checks that no screen of any app was opened. */
    protected final void assertNothingOpened() {
        assertNull(Shadows.shadowOf(phone.app()).getNextStartedActivity());
    }
}
