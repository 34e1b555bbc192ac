package dev.toolway.provider;

import java.util.Objects;
import org.json.JSONArray;
import org.json.JSONObject;

/** What a tool gives back: a JSON value, or plain text. */
public final class ToolResult {
    private final Object value;

    private ToolResult(Object value) {
        this.value = Objects.requireNonNull(value, "result");
    }

    /**
     * An object.
     *
     * @param value the object
     * @return the result
     */
    public static ToolResult json(JSONObject value) {
        return new ToolResult(value);
    }

    /**
     * An array.
     *
     * @param value the array
     * @return the result
     */
    public static ToolResult json(JSONArray value) {
        return new ToolResult(value);
    }

    /**
     * JSON that was written by another library.
     *
     * @param text one JSON value, passed on as it is; text that isn't JSON ends the call as
     *     {@link ErrorCode#INTERNAL_ERROR}
     * @return the result
     */
    public static ToolResult json(String text) {
        return new ToolResult(new Raw(text));
    }

    /**
     * Plain text.
     *
     * @param text passed on as it is in the dialects of MCP, and as a JSON string in CETP
     * @return the result
     */
    public static ToolResult text(String text) {
        return new ToolResult(text);
    }

    /** As one JSON value. */
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
        // Null where it holds what JSON has no form for, such as a number that is not finite.
        String text = value.toString();
        if (text == null) {
            throw ToolException.internal("the tool's result holds a value that JSON has no form for");
        }
        return text;
    }

    /** As text for a model to read. */
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
