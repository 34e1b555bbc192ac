package dev.toolway.provider;

import java.util.List;
import java.util.Map;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Converts the string arguments of MCP to the types in a tool's schema. A text that can't be converted stays a text,
 * and validation against the schema reports it.
 */
final class McpArguments {
    private McpArguments() {}

    static JSONObject read(Tool tool, Map<?, ?> given) throws ToolException {
        if (given == null) {
            throw ToolException.invalidArgs("missing " + Names.TOOL_ARGUMENTS);
        }
        JSONObject arguments = new JSONObject();
        for (Map.Entry<?, ?> entry : given.entrySet()) {
            Object name = entry.getKey();
            Object value = entry.getValue();
            boolean plain = value instanceof String || value instanceof Number || value instanceof Boolean;
            if (!(name instanceof String) || value != null && !plain) {
                throw ToolException.invalidArgs(Names.TOOL_ARGUMENTS + " must be a map of strings");
            }
            if (value != null) {
                put(arguments, (String) name, typed(value, tool.typesOf((String) name)));
            }
        }
        return arguments;
    }

    private static Object typed(Object value, List<String> types) {
        if (!(value instanceof String) || types == null || types.contains("string")) {
            return value;
        }
        try {
            Object read = StrictJson.parse(((String) value).trim());
            for (String type : types) {
                if (JsonValues.isOf(type, read)) {
                    return read;
                }
            }
        } catch (MalformedJson notThis) {
            return value;
        }
        return value;
    }

    private static void put(JSONObject arguments, String name, Object value) throws ToolException {
        try {
            arguments.put(name, value);
        } catch (JSONException error) {
            throw ToolException.invalidArgs(JsonValues.cut(name, 100) + ": " + error.getMessage());
        }
    }
}
