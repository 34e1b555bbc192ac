package dev.toolway.foreign;

import android.net.Uri;
import android.os.Bundle;
import java.util.Map;

/** An MCP provider of the dialect `mcp-a`: MIME type, no permission, one tool, string arguments. */
public class ForecastByType extends Foreign {
    private volatile Bundle extras;

    @Override
    public String getType(Uri uri) {
        return "application/vnd.mcp.tool";
    }

    @Override
    public Bundle call(String method, String arg, Bundle sent) {
        switch (method) {
            case "get_tool_info":
                return info();
            case "execute_tool":
                return execute(sent);
            default:
                return failure("Unknown method: " + method);
        }
    }

    private static Bundle info() {
        Bundle info = new Bundle();
        info.putBoolean("success", true);
        info.putString("tool_name", "get_weather_forecast");
        info.putString("tool_description", "Gets weather forecast for a location");
        info.putString("tool_input_schema", "{\"location\":{\"type\":\"string\",\"description\":\"City name\"},"
            + "\"days\":{\"type\":\"number\",\"description\":\"Number of days (1-7)\"},"
            + "\"detailed\":{\"type\":\"boolean\"},\"layers\":{\"type\":\"array\"},\"near\":{\"type\":\"object\"}}");
        info.putStringArray("tool_input_required", new String[] {"location"});
        return info;
    }

    @SuppressWarnings({"unchecked", "deprecation"}) // Like published providers of the dialect `mcp-a`.
    private Bundle execute(Bundle sent) {
        if (sent == null) {
            return failure("No extras provided");
        }
        extras = new Bundle(sent);
        if (sent.getString("tool_name") == null) {
            return failure("Tool name not specified");
        }
        Map<String, String> arguments = (Map<String, String>) sent.getSerializable("tool_arguments");
        if (arguments == null) {
            return failure("Invalid arguments");
        }
        String location = arguments.get("location");
        if (location == null) {
            return failure("Location required");
        }
        if (location.equals("nowhere")) {
            return failure("There is no such place");
        }
        String days = arguments.get("days");
        return result("The weather in " + location + " for " + (days == null ? 1 : Integer.parseInt(days)) + " days");
    }

    /** Arguments of the last call. */
    @SuppressWarnings({"unchecked", "deprecation"})
    public Map<String, String> lastArguments() {
        return (Map<String, String>) extras.getSerializable("tool_arguments");
    }
}
