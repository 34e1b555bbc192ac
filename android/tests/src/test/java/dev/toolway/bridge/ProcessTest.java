package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import dev.toolway.foreign.EchoByAction;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.host.ProviderRow;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.ProviderProcess;
import java.util.concurrent.CompletableFuture;
import org.json.JSONObject;
import org.junit.Test;
import org.robolectric.Shadows;

/** Tests processes that end, and processes that the system does not start. */
public class ProcessTest extends BridgeTest {
    private static final String AUTHORITY = "com.example.finance.tools";
    private static final String TOOL = "finance__get_portfolio_holdings";

    private ProviderProcess install() {
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".S", FinanceByHand.class.getName(), AUTHORITY, "1")
                + "<activity android:name=\".Main\" android:exported=\"true\"><intent-filter>"
                + "<action android:name=\"android.intent.action.MAIN\" />"
                + "<category android:name=\"android.intent.category.LAUNCHER\" /></intent-filter></activity>"));
        return phone.process(AUTHORITY);
    }

    private ProviderProcess installed() {
        ProviderProcess process = install();
        shell();
        awaitTools(TOOL);
        return process;
    }

    @Test
    public void an_ended_process_is_started_again() {
        ProviderProcess process = installed();
        process.kill();
        success(call(TOOL));
        assertEquals(2, process.starts());
    }

    @Test
    public void a_stopped_process_is_started() {
        ProviderProcess process = installed();
        process.refusesStarts(1);
        success(call(TOOL));
        assertEquals(2, process.starts());
        assertNothingOpened();
    }

    @Test
    public void a_process_that_always_crashes_does_not_end_the_bridge() {
        ProviderProcess process = installed();
        process.diesOnceStarted();
        failure(call(TOOL), "execution_error", "tool_failed");
        assertTrue("it was started", process.starts() > 1);
        assertEquals(0, process.endedCallers());
    }

    @Test
    public void a_read_only_call_is_retried_after_the_process_died() {
        ProviderProcess process = installed();
        process.diesInNextTransactions(1);
        success(call(TOOL));
        assertEquals(2, process.starts());
    }

    @Test
    public void a_call_with_side_effects_is_not_retried_after_the_process_died() {
        phone.install(Manifests.apk("com.example.echo", "Echo",
            Manifests.mcpAction(EchoByAction.class.getName(), "com.example.echo.mcp")));
        shell();
        awaitTools("echo__echo");
        ProviderProcess process = phone.process("com.example.echo.mcp");
        int before = process.transactions();
        process.diesInNextTransactions(1);
        JSONObject outcome = failure(call("echo__echo", "text", "once"), "execution_error", "tool_failed");
        assertTrue("it may have run", outcome.optBoolean("dispatched"));
        assertEquals(before + 1, process.transactions());
    }

    @Test
    public void a_process_that_does_not_start_makes_its_app_unavailable_and_opens_nothing() {
        ProviderProcess process = installed();
        process.neverStarts();
        JSONObject outcome = failure(call(TOOL), "execution_error", "tool_failed");
        assertTrue(outcome.toString(), outcome.optBoolean("retryable"));
        shell().row(AUTHORITY, ProviderRow.State.UNAVAILABLE);
        assertNothingOpened();
        process.startsAgain();
        phone.changed("com.example.finance");
        awaitTools(TOOL);
        success(call(TOOL));
    }

    @Test
    public void an_app_is_opened_for_a_call_if_allowed() {
        ProviderProcess process = install();
        start(options().launchApps(true));
        awaitTools(TOOL);
        process.neverStarts();
        JSONObject outcome = gateway.owner().called("phone__" + TOOL, new JSONObject(), 2_000L).join();
        failure(outcome, "execution_error", "tool_failed");
        assertOpened("com.example.finance", "com.example.finance.Main");
    }

    @Test
    public void a_call_waits_until_the_process_of_an_opened_app_is_there() throws InterruptedException {
        ProviderProcess process = install();
        start(options().launchApps(true));
        awaitTools(TOOL);
        process.neverStarts();
        CompletableFuture<JSONObject> called =
            gateway.owner().called("phone__" + TOOL, new JSONObject(), 20_000L);
        // Until the app is open, and some time for it to start.
        while (Shadows.shadowOf(phone.app()).peekNextStartedActivity() == null) {
            Thread.sleep(10);
        }
        Thread.sleep(300);
        assertFalse("it waits", called.isDone());
        process.startsAgain();
        success(called.join());
        assertOpened("com.example.finance", "com.example.finance.Main");
    }

    @Test
    public void no_app_is_opened_to_list_its_tools() {
        ProviderProcess process = install();
        process.neverStarts();
        start(options().launchApps(true));
        shell().row(AUTHORITY, ProviderRow.State.UNAVAILABLE);
        assertNothingOpened();
    }

    @Test
    public void an_unavailable_app_is_not_asked_again_when_another_registers() {
        ProviderProcess process = installed();
        process.neverStarts();
        failure(call(TOOL), "execution_error", "tool_failed");
        shell().row(AUTHORITY, ProviderRow.State.UNAVAILABLE);
        int before = process.wanted();
        phone.install(Manifests.apk("com.example.echo", "Echo",
            Manifests.mcpAction(EchoByAction.class.getName(), "com.example.echo.mcp")));
        awaitTools("echo__echo");
        success(call("echo__echo", "text", "here"));
        assertEquals(before, process.wanted());
    }
}
