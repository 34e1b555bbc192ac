package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import android.os.Build;
import android.os.Bundle;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.foreign.HangsWhenCalled;
import dev.toolway.foreign.HangsWhenListed;
import dev.toolway.foreign.Hostile;
import dev.toolway.foreign.Scripted;
import dev.toolway.host.ProviderRow;
import dev.toolway.phone.Manifests;
import java.util.List;
import org.json.JSONObject;
import org.junit.After;
import org.junit.Test;

/** Tests apps that send invalid answers, hang or crash. They do not affect other apps. */
public class HostileTest extends BridgeTest {
    private static final String AUTHORITY = "com.example.hostile.tools";
    private static final String TOOL = "hostile__run";

    @After
    public void letGo() {
        HangsWhenCalled.letGo();
        HangsWhenListed.holdAgain();
    }

    private JSONObject answerOf(Class<? extends Scripted> provider) {
        Scripted.runs();
        phone.install(Manifests.apk("com.example.hostile", "Hostile",
            Manifests.cetp(".S", provider.getName(), AUTHORITY, "1")), "key of hostile");
        shell();
        awaitTools(TOOL);
        JSONObject outcome = call(TOOL);
        phone.remove("com.example.hostile");
        awaitTools();
        return outcome;
    }

    private void assertFails(Class<? extends Scripted> provider, String code, String said) {
        JSONObject outcome = answerOf(provider);
        String type = switch (code) {
            case "denied" -> "permission_denied";
            case "invalid_arguments" -> "validation_error";
            default -> "execution_error";
        };
        failure(outcome, type, code);
        assertTrue(outcome.toString(), outcome.optString("message").contains(said));
        assertTrue("nobody was asked", shell().user().wasLeftAlone());
        assertNothingOpened();
    }

    @Test
    public void invalid_answers_are_errors_with_the_problem() {
        assertFails(Hostile.Nothing.class, "tool_failed", "null");
        assertFails(Hostile.NoKeys.class, "tool_failed", "status");
        assertFails(Hostile.NoData.class, "tool_failed", "data");
        assertFails(Hostile.WrongTypes.class, "tool_failed", "an int");
        assertFails(Hostile.NoJson.class, "tool_failed", "JSON");
    }

    @Test
    public void failures_keep_their_meaning() {
        assertFails(Hostile.Limited.class, "rate_limited", "not so fast");
        assertFails(Hostile.Picky.class, "invalid_arguments", "not like this");
        assertFails(Hostile.NotFound.class, "tool_failed", "there is none");
        assertFails(Hostile.UnknownCode.class, "tool_failed", "TEAPOT");
    }

    @Test
    public void exceptions_of_every_kind_are_errors() {
        assertFails(Hostile.IllegalArgument.class, "tool_failed", "java.lang.IllegalArgumentException");
        assertEquals("not taken for an authority that nobody serves", 1, Scripted.runs().size());
        assertFails(Hostile.IllegalState.class, "tool_failed", "java.lang.IllegalStateException: broken");
        assertFails(Hostile.NullPointer.class, "tool_failed", "java.lang.NullPointerException");
        assertFails(Hostile.Security.class, "denied", "not you");
        assertEquals("never again", 1, Scripted.runs().size());
        // Data that can't be passed between processes arrives as an empty answer.
        assertFails(Hostile.OwnException.class, "tool_failed", "status");
        // An Error ends the process; a read-only call is repeated once.
        assertFails(Hostile.Fatal.class, "tool_failed", "crashed");
        List<Bundle> runs = Scripted.runs();
        assertEquals(2, runs.size());
        assertEquals("the same id", runs.get(0).getString("request_id"), runs.get(1).getString("request_id"));
    }

    @Test
    public void a_value_of_an_unknown_class_does_not_affect_others() {
        JSONObject outcome = answerOf(Hostile.OwnClass.class);
        if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.TIRAMISU) {
            assertEquals(outcome.toString(), 1, success(outcome));
        } else {
            // Before API 33, a bundle is unpacked as a whole.
            failure(outcome, "execution_error", "tool_failed");
            assertTrue(outcome.toString(), outcome.optString("message").contains("BadParcelableException"));
        }
    }

    @Test
    public void an_unpaired_surrogate_is_replaced() {
        assertEquals("a?", success(answerOf(Hostile.HalfCharacter.class)));
    }

    @Test
    public void ten_megabytes_are_too_large() {
        assertFails(Hostile.TenMegabytes.class, "tool_failed", "too large");
        assertEquals("not taken for a dead process", 1, Scripted.runs().size());
    }

    @Test
    public void arguments_that_are_too_large_are_an_error() {
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".S", FinanceByHand.class.getName(), "com.example.finance.tools", "1")));
        shell();
        awaitTools("finance__get_portfolio_holdings");
        JSONObject outcome = failure(call("finance__get_portfolio_holdings", "note", "x".repeat(700_000)),
            "execution_error", "tool_failed");
        assertTrue(outcome.toString(), outcome.optString("message").contains("too large"));
    }

    @Test
    public void a_hanging_provider_delays_no_other_provider_a1() {
        phone.install(Manifests.apk("com.example.hung", "Hung",
            Manifests.cetp(".S", HangsWhenListed.class.getName(), "com.example.hung.tools", "1")));
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".S", FinanceByHand.class.getName(), "com.example.finance.tools", "1")));
        start(options().listTimeout(3_000));
        awaitTools("finance__get_portfolio_holdings");
        success(call("finance__get_portfolio_holdings"));
        ProviderRow row = shell().row("com.example.hung.tools", ProviderRow.State.UNAVAILABLE);
        assertTrue(row.reason(), row.reason().contains("in time"));
        // It answers late; the next event of its package causes a new request.
        HangsWhenListed.letGo();
        phone.changed("com.example.hung");
        awaitTools("finance__get_portfolio_holdings", "hung__get_portfolio_holdings");
    }

    @Test
    public void hanging_calls_are_abandoned_and_counted_a1() {
        phone.install(Manifests.apk("com.example.hung", "Hung",
            Manifests.cetp(".S", HangsWhenCalled.class.getName(), "com.example.hung.tools", "1")));
        shell();
        awaitTools("hung__wait");
        for (int i = 0; i < 3; i++) {
            failure(gateway.owner().called("phone__hung__wait", new JSONObject(), 300L).join(), "timeout", "timeout");
        }
        // The gateway has cancelled them; the phone is notified shortly afterwards.
        JSONObject outcome = gateway.owner().called("phone__hung__wait", new JSONObject(), 2_000L).join();
        if ("timeout".equals(outcome.optString("code"))) {
            outcome = gateway.owner().called("phone__hung__wait", new JSONObject(), 2_000L).join();
        }
        failure(outcome, "execution_error", "tool_failed");
        assertTrue(outcome.toString(), outcome.optString("message").contains("hangs"));
    }
}
