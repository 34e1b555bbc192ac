package dev.toolway.provider;

import java.util.Objects;
import org.json.JSONArray;
import org.json.JSONObject;

/** Result of a tool: a JSON value or plain text. */
public final class ToolResult {
    private final Object value;

    private ToolResult(Object value) {
        this.value = Objects.requireNonNull(value, "result");
    }

    /**
     * Creates a result from an object.
     *
     * @param value the object
     * @return the result
     */
    public static ToolResult json(JSONObject value) {
        return new ToolResult(value);
    }

    /**
     * Creates a result from an array.
     *
     * @param value the array
     * @return the result
     */
    public static ToolResult json(JSONArray value) {
        return new ToolResult(value);
    }

    /**
     * Creates a result from JSON text, for example of another library.
     *
     * @param text one JSON value, sent unchanged; invalid JSON ends the call with
     *     {@link ErrorCode#INTERNAL_ERROR}
     * @return the result
     */
    public static ToolResult json(String text) {
        return new ToolResult(new Raw(text));
    }

    /**
     * Creates a result from plain text.
     *
     * @param text sent unchanged in the MCP dialects, and as a JSON string in CETP
     * @return the result
     */
    public static ToolResult text(String text) {
        return new ToolResult(text);
    }

    /** Returns the result as one JSON value. */
    String toJson() throws ToolException {
        if (value instanceof String) {
            return JSONObject.quote((String) value);
        }
        if (value instanceof Raw) {
            String text = ((Raw) value).text;
            try {
                StrictJson.parse(text);
            } catch (MalformedJson error) {
                throw ToolException.internal("the tool's result is not JSON: " + error.getMessage());
            }
            return text;
        }
        // Null if it contains a value that JSON can't represent, such as an infinite number.
        String text = value.toString();
        if (text == null) {
            throw ToolException.internal("the tool's result contains a value that JSON can't represent");
        }
        return text;
    }

    /** Returns the result as text for a model. */
    String toText() throws ToolException {
        return value instanceof String ? (String) value : toJson();
    }

    private static final class Raw {
        final String text;

        Raw(String text) {
            this.text = Objects.requireNonNull(text, "result");
        }
    }
}
