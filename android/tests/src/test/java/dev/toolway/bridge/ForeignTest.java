package dev.toolway.bridge;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import dev.toolway.foreign.CalculatorByClasses;
import dev.toolway.foreign.EchoByAction;
import dev.toolway.foreign.FinanceByHand;
import dev.toolway.foreign.ForecastByType;
import dev.toolway.foreign.OddLists;
import dev.toolway.host.ProviderRow;
import dev.toolway.phone.Manifests;
import dev.toolway.phone.Phone;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.json.JSONObject;
import org.junit.Test;

/** Tests apps of each dialect that do not use our library. */
public class ForeignTest extends BridgeTest {
    private static final String FINANCE = "com.example.finance.clawseed.tools";
    private static final String FORECAST = "com.yourcompany.yourapp.mcptool";

    private void installFinance(String version) {
        phone.install(Manifests.apk("com.example.finance", "Finance",
            Manifests.cetp(".ToolProviderService", FinanceByHand.class.getName(), FINANCE, version)), "key of finance");
    }

    private ForecastByType installForecast() {
        phone.install(Manifests.apk("com.yourcompany.yourapp", "Weather",
            Manifests.mcpType(ForecastByType.class.getName(), FORECAST)));
        shell();
        awaitTools("weather__get_weather_forecast");
        return (ForecastByType) phone.process(FORECAST).provider();
    }

    @Test
    public void a_cetp_app_works() {
        installFinance("1");
        shell();
        awaitTools("finance__get_portfolio_holdings");
        JSONObject outcome = call("finance__get_portfolio_holdings", "account_type", "fund");
        JSONObject result = (JSONObject) success(outcome);
        assertEquals("fund", result.optJSONObject("args").optString("account_type"));
        assertEquals("the call's id", outcome.optString("call_id"), result.optString("request_id"));
    }

    @Test
    public void an_mcp_app_with_the_mime_type_works() {
        installForecast();
        JSONObject listed = gateway.owner().get("/api/tools/phone__weather__get_weather_forecast");
        JSONObject schema = listed.optJSONObject("parameters");
        assertEquals("string", schema.optJSONObject("properties").optJSONObject("location").optString("type"));
        assertEquals(Json.array("location").toString(), schema.optJSONArray("required").toString());
        JSONObject annotations = listed.optJSONObject("annotations");
        assertFalse("it may act", annotations != null && annotations.optBoolean("readOnlyHint"));
        assertEquals("The weather in Ulm for 3 days",
            success(call("weather__get_weather_forecast", "location", "Ulm", "days", 3)));
    }

    @Test
    public void an_mcp_app_with_the_action_works() {
        phone.install(Manifests.apk("com.example.echo", "Echo",
            Manifests.mcpAction(EchoByAction.class.getName(), "com.example.echo.mcp")));
        shell();
        awaitTools("echo__echo");
        assertEquals("Grüße \"an alle\"", success(call("echo__echo", "text", "Grüße \"an alle\"")));
    }

    @Test
    public void an_mcp_app_with_class_names_works() {
        phone.install(Manifests.apk("com.example.calculator", "Calculator",
            Manifests.mcpAction(CalculatorByClasses.class.getName(), "com.example.calculator.mcp")));
        shell();
        awaitTools("calculator__calculator");
        JSONObject schema = gateway.owner().get("/api/tools/phone__calculator__calculator")
            .optJSONObject("parameters").optJSONObject("properties");
        assertEquals("string", schema.optJSONObject("operation").optString("type"));
        assertEquals("number", schema.optJSONObject("a").optString("type"));
        assertEquals("12", success(call("calculator__calculator", "operation", "multiply", "a", 3.0, "b", 4)));
    }

    @Test
    public void the_mcp_permission_is_required_if_a_provider_declares_it() {
        phone.deny(Phone.ACCESS_PROVIDER);
        phone.install(Manifests.apk("com.example.echo", "Echo",
            Manifests.mcpAction(EchoByAction.class.getName(), "com.example.echo.mcp")));
        ProviderRow row = shell().row("com.example.echo.mcp", ProviderRow.State.REFUSED);
        assertTrue(row.reason(), row.reason().contains(Phone.ACCESS_PROVIDER));
    }

    @Test
    public void the_sample_weather_app_works() {
        phone.install(Manifests.apk(Programs.source("android/samples/weather/src/main")));
        shell();
        awaitTools("weather__get_weather_forecast");
        // The app parses numbers with `Integer.parseInt`.
        String text = (String) success(call("weather__get_weather_forecast", "location", "Ulm", "days", 2.0));
        JSONObject forecast = Json.parse(text);
        assertEquals(2, forecast.optJSONArray("days").length());
        JSONObject outcome =
            failure(call("weather__get_weather_forecast", "location", "Atlantis"), "execution_error", "tool_failed");
        assertTrue(outcome.toString(), outcome.optString("message").contains("Atlantis"));
    }

    @Test
    public void tools_without_parameters_are_listed_and_invalid_ones_are_skipped_by_name_a2() {
        phone.install(Manifests.apk("com.example.odd", "Odd",
            Manifests.cetp(".S", OddLists.class.getName(), "com.example.odd.tools", "1")));
        ProviderRow row = shell().row("com.example.odd.tools", ProviderRow.State.READY);
        awaitTools("odd__list_parameters", "odd__new", "odd__no_parameters", "odd__null_parameters");
        assertTrue(row.notes().toString(), row.notes().stream().anyMatch(note -> note.contains("has no name")));
        assertTrue(row.notes().toString(),
            row.notes().stream().anyMatch(note -> note.startsWith("bad: ") && note.contains("schema")));
        assertEquals(row.notes().toString(), 2, row.notes().size());
        success(call("odd__null_parameters"));
    }

    @Test
    public void versions_are_read_from_any_meta_data_type_a3() {
        // The manifest's compiler chooses the types: integer, string, float; a missing value stays missing.
        assertVersion("1", null, null);
        assertVersion("\\u00201", null, null);
        assertVersion("1.0", null, null);
        assertVersion("2", null, "version 2");
        assertVersion("1.1", null, "its protocol version 1.1 is not a whole number; 1 is used");
        assertVersion("v1", null, "its protocol version \"v1\" is not a whole number; 1 is used");
        assertVersion(null, null, "1 is assumed");
        assertVersion("0", "version 0", null);
        assertVersion("true", "not a number", null);
        assertVersion("first", "not a number", null);
    }

    private void assertVersion(String version, String refused, String flagged) {
        installFinance(version);
        ProviderRow row = shell().row(FINANCE, it -> it.state() != ProviderRow.State.UNAVAILABLE);
        if (refused == null) {
            assertEquals(version, ProviderRow.State.READY, row.state());
        } else {
            assertEquals(version, ProviderRow.State.REFUSED, row.state());
            assertTrue(row.reason(), row.reason().contains(refused));
        }
        if (flagged == null) {
            assertEquals(version, List.of(), row.notes());
        } else {
            assertTrue(version + row.notes(), row.notes().stream().anyMatch(note -> note.contains(flagged)));
        }
        phone.remove("com.example.finance");
        shell().noRow(FINANCE);
    }

    @Test
    public void a_failure_of_an_mcp_provider_is_an_error_a8() {
        installForecast();
        JSONObject outcome =
            failure(call("weather__get_weather_forecast", "location", "nowhere"), "execution_error", "tool_failed");
        assertEquals("There is no such place", outcome.optString("message"));
    }

    @Test
    public void arguments_of_mcp_providers_are_strings_that_their_code_can_parse_a9() {
        ForecastByType provider = installForecast();
        success(call("weather__get_weather_forecast", "location", "say \"Ulm\"\n", "days", 2.0, "detailed", true,
            "layers", Json.array(1, "a"), "near", Json.of("lat", 48.4)));
        assertEquals(Map.of("location", "say \"Ulm\"\n", "days", "2", "detailed", "true", "layers", "[1,\"a\"]", "near",
            "{\"lat\":48.4}"), provider.lastArguments());
        // Numbers are sent in several notations.
        for (String days : List.of("1", "1.0", "1e0", "10e-1")) {
            JSONObject args = Json.of("location", "Ulm");
            Json.put(args, "days", new BigDecimal(days));
            success(gateway.owner().call("phone__weather__get_weather_forecast", args));
            assertEquals(days, "1", provider.lastArguments().get("days"));
        }
        assertNull(provider.lastArguments().get("detailed"));
    }

    @Test
    public void apps_with_the_same_label_get_names_that_do_not_depend_on_order_a10() {
        phone.install(twin("one"));
        phone.install(twin("two"));
        List<String> first = List.of(shell().row("com.example.one.tools", ProviderRow.State.READY).prefix(),
            shell().row("com.example.two.tools", ProviderRow.State.READY).prefix());
        for (String name : first) {
            assertTrue(name, name.matches("notes_[0-9a-f]{6}"));
        }
        assertFalse(first.toString(), first.get(0).equals(first.get(1)));
        stopShell();
        phone.remove("com.example.one");
        phone.remove("com.example.two");
        phone.install(twin("two"));
        phone.install(twin("one"));
        start(options());
        assertEquals(first, List.of(shell().row("com.example.one.tools", ProviderRow.State.READY).prefix(),
            shell().row("com.example.two.tools", ProviderRow.State.READY).prefix()));
    }

    private static Path twin(String name) {
        return Manifests.apk("com.example." + name, "Notes!",
            Manifests.cetp(".S", FinanceByHand.class.getName(), "com.example." + name + ".tools", "1"));
    }

    @Test
    public void an_authority_of_another_package_is_refused_and_the_owner_keeps_its_own() {
        installFinance("1");
        phone.install(Manifests.apk("com.example.thief", "Finance",
            "<service android:name=\".S\" android:exported=\"true\"><intent-filter>"
                + "<action android:name=\"com.clawseed.action.TOOL_PROVIDER\" /></intent-filter>"
                + "<meta-data android:name=\"com.clawseed.tools.authority\" android:value=\"" + FINANCE + "\" />"
                + "<meta-data android:name=\"com.clawseed.tools.version\" android:value=\"1\" /></service>"));
        ProviderRow thief = shell().row(FINANCE, row -> row.packageName().equals("com.example.thief"));
        assertEquals(ProviderRow.State.REFUSED, thief.state());
        ProviderRow owner = shell().row(FINANCE, row -> row.packageName().equals("com.example.finance"));
        assertEquals(ProviderRow.State.READY, owner.state());
        awaitTools(owner.prefix() + "__get_portfolio_holdings");
    }

    @Test
    public void a_provider_that_is_not_exported_is_refused() {
        phone.install(Manifests.apk("com.example.finance", "Finance", Manifests.cetp(".S",
            FinanceByHand.class.getName(), FINANCE, "1").replace("exported=\"true\" android:permission",
            "exported=\"false\" android:permission")));
        ProviderRow row = shell().row(FINANCE, ProviderRow.State.REFUSED);
        assertTrue(row.reason(), row.reason().contains("exported"));
    }
}
