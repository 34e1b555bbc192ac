package dev.toolway.provider;

import org.json.JSONObject;

/** Copies JSON values by writing and parsing them, so that later changes of the original have no effect. */
final class StrictCopy {
    private StrictCopy() {}

    static JSONObject of(Schema schema) {
        return (JSONObject) read(schema.toString());
    }

    static Object of(Object value) {
        return read(value instanceof String ? JSONObject.quote((String) value) : value.toString());
    }

    private static Object read(String text) {
        try {
            return StrictJson.parse(text);
        } catch (MalformedJson error) {
            throw new IllegalArgumentException("not JSON: " + error.getMessage(), error);
        }
    }
}
