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

/** Starting and stopping, and what an app is told of the connection. */
public class StartTest extends BridgeTest {
    @Test
    public void options_that_can_not_be_used_are_refused_with_the_reason() {
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
    public void the_app_is_told_of_the_connection_and_of_its_end() {
        BridgeStatus connected = shell().status("a connection", it -> it.state() == BridgeStatus.State.CONNECTED);
        assertEquals("phone", connected.source());
        assertTrue(shell().bridge().stop());
        assertFalse("it runs no more", shell().bridge().stop());
    }

    @Test
    public void a_token_that_is_not_known_ends_it_with_what_to_do() {
        start(new BridgeOptions(gateway.url(), "not a token", "phone"));
        BridgeStatus stopped = shell().status("the end", it -> it.state() == BridgeStatus.State.STOPPED);
        assertTrue(stopped.why(), stopped.why().contains("token"));
        assertTrue(stopped.hint(), stopped.hint().contains("pair again"));
    }

    @Test
    public void an_app_that_throws_when_it_is_told_something_is_told_the_next_thing_all_the_same() throws Exception {
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
    public void a_bridge_that_was_stopped_hears_of_no_packages() {
        shell();
        awaitTools();
        stopShell();
        // Nobody listens: the receiver is gone, and a word that comes late finds nobody.
        phone.changed("com.example.anything");
    }
}
