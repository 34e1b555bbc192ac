package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import dev.toolway.host.BridgeListener;
import dev.toolway.host.BridgeOptions;
import dev.toolway.host.BridgeStatus;
import dev.toolway.host.ProviderRow;
import dev.toolway.host.ToolwayBridge;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/** Tests start, stop and connection events. */
public class StartTest extends BridgeTest {
    @Test
    public void invalid_options_are_refused_with_the_reason() {
        shell();
        assertEquals("the gateway's key can't be read",
            refused(options().key("sha256:12")).replaceAll(":.*", ""));
        assertTrue(refused(new BridgeOptions("ftp://somewhere", "token", "phone")).contains("ftp"));
        assertTrue(refused(new BridgeOptions("http://example.org", "token", "phone")).contains("does not use TLS"));
        assertTrue(refused(options().names("{")).contains("names"));
        assertEquals("url is missing", refused(new BridgeOptions(null, "token", "phone")));
    }

    private String refused(BridgeOptions options) {
        User user = new User();
        return assertThrows(IllegalArgumentException.class,
            () -> ToolwayBridge.start(phone.app(), options, user, null)).getMessage();
    }

    @Test
    public void the_app_is_notified_of_connection_and_disconnection() {
        BridgeStatus connected = shell().status("a connection", it -> it.state() == BridgeStatus.State.CONNECTED);
        assertEquals("phone", connected.source());
        assertTrue(shell().bridge().stop());
        assertFalse("it runs no more", shell().bridge().stop());
    }

    @Test
    public void an_unknown_token_ends_the_bridge_with_a_hint() {
        start(new BridgeOptions(gateway.url(), "not a token", "phone"));
        BridgeStatus stopped = shell().status("the end", it -> it.state() == BridgeStatus.State.STOPPED);
        assertTrue(stopped.why(), stopped.why().contains("token"));
        assertTrue(stopped.hint(), stopped.hint().contains("pair again"));
    }

    @Test
    public void an_exception_of_a_listener_does_not_stop_later_events() throws Exception {
        CountDownLatch told = new CountDownLatch(3);
        ToolwayBridge bridge = ToolwayBridge.start(phone.app(), options(), new User(), new BridgeListener() {
            @Override
            public void status(BridgeStatus status) {
                told.countDown();
                throw new IllegalStateException("a listener's own fault");
            }

            @Override
            public void providers(List<ProviderRow> providers, String fault) {
            }

            @Override
            public void names(String names) {
            }
        });
        try {
            assertTrue(told.await(60, TimeUnit.SECONDS));
        } finally {
            bridge.stop();
        }
    }

    @Test
    public void a_stopped_bridge_gets_no_package_events() {
        shell();
        awaitTools();
        stopShell();
        // The receiver is unregistered, and a late event is ignored.
        phone.changed("com.example.anything");
    }
}
