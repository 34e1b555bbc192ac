package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import dev.toolway.foreign.Bombs;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.host.ProviderRow;
import dev.toolway.phone.Manifests;
import java.util.List;
import org.json.JSONObject;
import org.junit.Before;
import org.junit.Test;

/** Tests apps whose lists are expensive to read. They do not affect other apps. */
public class BombTest extends BridgeTest {
    private static final String PACKAGE = "com.example.bomb";
    private static final String AUTHORITY = "com.example.bomb.tools";
    private static final String OTHER = "finance__get_portfolio_holdings";

    @Before
    public void installAnother() {
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".S", FinanceByHand.class.getName(), "com.example.finance.tools", "1")));
    }

    private void install(Class<?> provider) {
        phone.install(Manifests.apk(PACKAGE, "Bomb", Manifests.cetp(".S", provider.getName(), AUTHORITY, "1")));
    }

    private static String noteOn(ProviderRow row, String tool) {
        return row.notes().stream().filter(note -> note.startsWith(tool + ": ")).findFirst().orElse("none");
    }

    @Test
    public void too_expensive_schemas_are_left_out_without_affecting_others() {
        install(Bombs.Schemas.class);
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.READY);
        assertEquals("choices: the schema of its parameters takes 70048 bytes, more than the 65536 that are accepted",
            noteOn(row, "choices"));
        assertTrue(row.notes().toString(), noteOn(row, "repeated").contains("has an invalid parameter schema"));
        // The gateway rejects cyclic and exponentially large schemas.
        awaitTools("bomb__behind", "bomb__good", "bomb__nested", "bomb__slow", OTHER);
        assertEquals("good", success(call("bomb__good")));
        success(call(OTHER));
    }

    @Test
    public void slow_validation_affects_only_its_call() {
        install(Bombs.Schemas.class);
        shell();
        awaitTools("bomb__behind", "bomb__good", "bomb__nested", "bomb__slow", OTHER);
        // Backtracking through all alternatives would never finish.
        String slow = "a".repeat(20_000) + "!";
        failure(call("bomb__slow", "it", slow), "validation_error", "invalid_arguments");
        failure(call("bomb__behind", "it", slow), "validation_error", "invalid_arguments");
        assertEquals("nested", success(call("bomb__nested", "it", slow)));
    }

    @Test
    public void a_list_nested_too_deeply_is_refused() {
        install(Bombs.Deep.class);
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.UNAVAILABLE);
        assertEquals("the app's answer is invalid: its list nests deeper than 64 levels", row.reason());
        awaitTools(OTHER);
        success(call(OTHER));
    }

    @Test
    public void a_description_too_large_for_android_makes_its_app_unavailable() {
        install(Bombs.LongWords.class);
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.UNAVAILABLE);
        assertTrue(row.reason(), row.reason().contains("out of binder buffer space"));
        awaitTools(OTHER);
        success(call(OTHER));
    }

    @Test
    public void a_description_that_is_too_long_is_cut() {
        install(Bombs.FewerWords.class);
        ProviderRow row = shell().row(AUTHORITY, ProviderRow.State.READY);
        assertEquals(List.of("talks: its description is longer than 4096 characters and was cut"), row.notes());
        awaitTools("bomb__talks", OTHER);
        JSONObject listed = gateway.owner().get("/api/tools/phone__bomb__talks");
        assertEquals("x".repeat(4_096) + "…", listed.optString("description"));
        assertEquals("talks", success(call("bomb__talks")));
    }

    @Test
    public void a_changing_list_is_replaced_as_a_whole() {
        install(Bombs.Changing.class);
        shell();
        awaitTools("bomb__tool_1", OTHER);
        assertEquals("tool_1", success(call("bomb__tool_1")));
        for (int asked = 2; asked < 6; asked++) {
            phone.changed(PACKAGE);
            awaitTools("bomb__tool_" + asked, OTHER);
            assertEquals("tool_" + asked, success(call("bomb__tool_" + asked)));
        }
        failure(call("bomb__tool_1"), "execution_error", "tool_not_available");
        success(call(OTHER));
    }
}
