package dev.toolway.bridge;

import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** JSON helpers for tests; malformed data fails the test. */
final class Json {
    private Json() {
    }

    static JSONObject of(Object... keysAndValues) {
        JSONObject object = new JSONObject();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            put(object, (String) keysAndValues[i], keysAndValues[i + 1]);
        }
        return object;
    }

    static void put(JSONObject object, String key, Object value) {
        try {
            object.put(key, value);
        } catch (JSONException e) {
            throw new AssertionError(e);
        }
    }

    static JSONArray array(Object... values) {
        JSONArray array = new JSONArray();
        for (Object value : values) {
            array.put(value);
        }
        return array;
    }

    static JSONObject parse(String text) {
        try {
            return new JSONObject(text);
        } catch (JSONException e) {
            throw new AssertionError(text, e);
        }
    }

    /** Returns the objects of an array. */
    static List<JSONObject> rows(JSONObject of, String key) {
        JSONArray array = of.optJSONArray(key);
        if (array == null) {
            throw new AssertionError("no " + key + " in " + of);
        }
        List<JSONObject> rows = new ArrayList<>();
        for (int i = 0; i < array.length(); i++) {
            rows.add(array.optJSONObject(i));
        }
        return rows;
    }
}
