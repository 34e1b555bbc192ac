package com.example.weather;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.net.Uri;
import android.os.Bundle;
import dev.toolway.provider.CallingApp;
import java.time.LocalDate;
import java.util.LinkedHashMap;
import java.util.Map;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;

/** Tests the weather app with calls like a bridge's. */
@RunWith(RobolectricTestRunner.class)
public class WeatherTest {
    private static final String AUTHORITY = "com.example.weather.mcptool";

    private final McpToolProvider provider =
            Robolectric.buildContentProvider(McpToolProvider.class).create(AUTHORITY).get();
    private final CallingApp bridge = CallingApp.install("com.example.bridge");

    private Bundle execute(Map<String, String> arguments) {
        Bundle extras = new Bundle();
        extras.putString("tool_name", "get_weather_forecast");
        extras.putSerializable("tool_arguments", new LinkedHashMap<>(arguments));
        return bridge.call(provider, AUTHORITY, "execute_tool", extras);
    }

    private JSONObject forecast(Map<String, String> arguments) throws Exception {
        Bundle answer = execute(arguments);
        assertTrue(answer.getString("error_message"), answer.getBoolean("success"));
        return new JSONObject(answer.getString("tool_result"));
    }

    private String refusal(Map<String, String> arguments) {
        Bundle answer = execute(arguments);
        assertFalse(answer.getBoolean("success", true));
        assertNull(answer.getString("tool_result"));
        return answer.getString("error_message");
    }

    /** The tool of the dialect `mcp-a`, key by key. */
    @Test
    public void toolMatchesGuide() throws Exception {
        Bundle info = bridge.call(provider, AUTHORITY, "get_tool_info", null);
        assertTrue(info.getBoolean("success"));
        assertEquals("get_weather_forecast", info.getString("tool_name"));
        assertEquals("Gets weather forecast for a location", info.getString("tool_description"));
        JSONObject schema = new JSONObject(info.getString("tool_input_schema"));
        assertEquals(2, schema.length());
        assertEquals("string", schema.getJSONObject("location").getString("type"));
        assertEquals("City name or coordinates", schema.getJSONObject("location").getString("description"));
        assertEquals("number", schema.getJSONObject("days").getString("type"));
        assertEquals("Number of days (1-7)", schema.getJSONObject("days").getString("description"));
        assertArrayEquals(new String[] {"location"}, info.getStringArray("tool_input_required"));
        assertEquals("application/vnd.mcp.tool", provider.getType(Uri.parse("content://" + AUTHORITY)));
    }

    @Test
    public void forecastHasRequestedDays() throws Exception {
        JSONObject forecast = forecast(Map.of("location", "ulm", "days", "3"));
        assertEquals("Ulm", forecast.getString("location"));
        assertTrue(forecast.getBoolean("sample_data"));
        assertEquals(3, forecast.getJSONArray("days").length());
        assertEquals(1, forecast(Map.of("location", "Ulm")).getJSONArray("days").length());
    }

    @Test
    public void coordinatesSelectNearestPlace() throws Exception {
        assertEquals("Ulm", forecast(Map.of("location", "48.1,11.6")).getString("location"));
        assertEquals("Sydney", forecast(Map.of("location", "-37.8, 144.9")).getString("location"));
        // Across the date line, and near a pole.
        assertEquals("Tokyo", forecast(Map.of("location", "51.9,-176.6")).getString("location"));
    }

    @Test
    public void forecastIsDeterministic() throws Exception {
        LocalDate day = LocalDate.of(2025, 7, 30);
        JSONArray days = Climate.at("Ulm").forecast(day, 7).getJSONArray("days");
        assertEquals(days.toString(), Climate.at("Ulm").forecast(day, 7).getJSONArray("days").toString());
        // July and August have a high of 24 there, and 48 and 46 days of rain in a hundred.
        for (int i = 0; i < 7; i++) {
            JSONObject each = days.getJSONObject(i);
            assertEquals(day.plusDays(i).toString(), each.getString("date"));
            assertEquals(24, each.getInt("high_c"), 3);
            assertEquals(each.getInt("high_c") - 9, each.getInt("low_c"));
            assertEquals(i < 2 ? 48 : 46, each.getInt("rain_percent"));
        }
        assertEquals(
                days.getJSONObject(1).toString(),
                Climate.at("Ulm").forecast(day.plusDays(1), 1).getJSONArray("days").getJSONObject(0).toString());
    }

    /** Pitfall A9: the app parses whole numbers only. A bridge that sends 1 as 1.0 fails here. */
    @Test
    public void daysAreWholeNumbers_a9() {
        assertEquals(
                "days must be a whole number from 1 to 7, is 3.0", refusal(Map.of("location", "Ulm", "days", "3.0")));
        assertEquals(
                "days must be a whole number from 1 to 7, is \"3\"",
                refusal(Map.of("location", "Ulm", "days", "\"3\"")));
        assertEquals("days must be from 1 to 7, is 8", refusal(Map.of("location", "Ulm", "days", "8")));
        assertEquals("days must be from 1 to 7, is 0", refusal(Map.of("location", "Ulm", "days", "0")));
    }

    @Test
    public void badRequestsAreReported() {
        assertEquals("Location required", refusal(Map.of()));
        assertTrue(refusal(Map.of("location", "Atlantis")).startsWith("Unknown location: Atlantis; known are Berlin,"));
        assertEquals(
                "Unknown method: list_tools",
                bridge.call(provider, AUTHORITY, "list_tools", null).getString("error_message"));
        assertEquals(
                "No extras provided",
                bridge.call(provider, AUTHORITY, "execute_tool", null).getString("error_message"));
        Bundle extras = new Bundle();
        extras.putString("tool_name", "get_weather_forecast");
        assertEquals(
                "Invalid arguments",
                bridge.call(provider, AUTHORITY, "execute_tool", extras).getString("error_message"));
        extras.putString("tool_name", "other");
        assertEquals(
                "Unknown tool: other",
                bridge.call(provider, AUTHORITY, "execute_tool", extras).getString("error_message"));
    }
}
