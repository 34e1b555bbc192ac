package com.example.weather;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.database.Cursor;
import android.net.Uri;
import android.os.Bundle;
import java.time.LocalDate;
import java.util.Map;
import org.json.JSONException;

/**
 * One tool in the first dialect of MCP over content providers, without the library. It parses numbers with
 * {@code Integer.parseInt}, like published providers: {@code 3.0} is invalid.
 */
public final class McpToolProvider extends ContentProvider {
    private static final String TOOL = "get_weather_forecast";
    private static final int MAX_DAYS = 7;

    @Override
    public Bundle call(String method, String arg, Bundle extras) {
        switch (method) {
            case "get_tool_info":
                return toolInfo();
            case "execute_tool":
                return execute(extras);
            default:
                return error("Unknown method: " + method);
        }
    }

    private static Bundle toolInfo() {
        Bundle info = new Bundle();
        info.putBoolean("success", true);
        info.putString("tool_name", TOOL);
        info.putString("tool_description", "Gets weather forecast for a location");
        info.putString("tool_input_schema", "{"
                + "\"location\": {\"type\": \"string\", \"description\": \"City name or coordinates\"},"
                + "\"days\": {\"type\": \"number\", \"description\": \"Number of days (1-7)\"}}");
        info.putStringArray("tool_input_required", new String[] {"location"});
        return info;
    }

    private static Bundle execute(Bundle extras) {
        if (extras == null) {
            return error("No extras provided");
        }
        try {
            if (!TOOL.equals(extras.getString("tool_name"))) {
                return error("Unknown tool: " + extras.getString("tool_name"));
            }
            Object arguments = extras.getSerializable("tool_arguments");
            return arguments instanceof Map ? forecast((Map<?, ?>) arguments) : error("Invalid arguments");
        } catch (JSONException | RuntimeException error) {
            return error("Execution error: " + error.getMessage());
        }
    }

    private static Bundle forecast(Map<?, ?> arguments) throws JSONException {
        Object location = arguments.get("location");
        if (location == null) {
            return error("Location required");
        }
        Climate climate = Climate.at(location.toString());
        if (climate == null) {
            return error("Unknown location: " + location + "; known are " + Climate.names() + ", or coordinates as"
                    + " latitude,longitude");
        }
        Object days = arguments.get("days");
        int wanted;
        try {
            wanted = days == null ? 1 : Integer.parseInt(days.toString());
        } catch (NumberFormatException error) {
            return error("days must be a whole number from 1 to " + MAX_DAYS + ", is " + days);
        }
        if (wanted < 1 || wanted > MAX_DAYS) {
            return error("days must be from 1 to " + MAX_DAYS + ", is " + wanted);
        }
        Bundle result = new Bundle();
        result.putBoolean("success", true);
        result.putString("tool_result", climate.forecast(LocalDate.now(), wanted).toString());
        return result;
    }

    private static Bundle error(String message) {
        Bundle error = new Bundle();
        error.putBoolean("success", false);
        error.putString("error_message", message);
        return error;
    }

    @Override
    public boolean onCreate() {
        return true;
    }

    @Override
    public String getType(Uri uri) {
        return "application/vnd.mcp.tool";
    }

    @Override
    public Cursor query(Uri uri, String[] projection, String selection, String[] arguments, String order) {
        return null;
    }

    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    @Override
    public int delete(Uri uri, String selection, String[] arguments) {
        return 0;
    }

    @Override
    public int update(Uri uri, ContentValues values, String selection, String[] arguments) {
        return 0;
    }
}
