package dev.toolway.provider;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Iterator;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * Reads the keywords of one schema and rejects invalid values of keywords, so that errors in a schema are found when it
 * is declared.
 */
final class Keywords {
    private static final List<String> TYPES =
            Arrays.asList("null", "boolean", "object", "array", "number", "string", "integer");

    private final JSONObject schema;
    private final String pointer;

    Keywords(JSONObject schema, String pointer) {
        this.schema = schema;
        this.pointer = pointer;
    }

    boolean has(String keyword) {
        return schema.has(keyword);
    }

    Object value(String keyword) {
        return schema.opt(keyword);
    }

    /** Returns null if any type is allowed. */
    List<String> types() {
        Object types = schema.opt("type");
        if (types == null) {
            return null;
        }
        List<String> read = types instanceof String ? Arrays.asList((String) types) : strings("type");
        for (String type : read) {
            if (!TYPES.contains(type)) {
                throw wrong("type", "must be one of " + TYPES + ", is " + type);
            }
        }
        return read;
    }

    /** Returns null if it is missing. */
    List<Object> values(String keyword) {
        if (!has(keyword)) {
            return null;
        }
        JSONArray array = array(keyword);
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < array.length(); i++) {
            values.add(array.opt(i));
        }
        return values;
    }

    /** Returns an empty collection if it is missing. */
    List<String> strings(String keyword) {
        List<String> strings = new ArrayList<>();
        List<Object> values = values(keyword);
        for (Object value : values == null ? new ArrayList<>() : values) {
            if (!(value instanceof String)) {
                throw wrong(keyword, "must contain only strings");
            }
            strings.add((String) value);
        }
        return strings;
    }

    /** Returns null if it is missing. */
    BigDecimal number(String keyword) {
        Object value = schema.opt(keyword);
        if (value != null && !(value instanceof Number)) {
            throw wrong(keyword, "must be a number");
        }
        return value == null ? null : JsonValues.decimal((Number) value);
    }

    /** Returns a limit for a count; null if it is missing. */
    Integer count(String keyword) {
        Object value = schema.opt(keyword);
        if (value == null) {
            return null;
        }
        if (!JsonValues.isOf("integer", value) || ((Number) value).doubleValue() < 0) {
            throw wrong(keyword, "must be a non-negative integer");
        }
        return ((Number) value).intValue();
    }

    /** Returns null if it is missing. */
    Pattern pattern() {
        Object value = schema.opt("pattern");
        if (value == null) {
            return null;
        }
        try {
            return Pattern.compile((String) value);
        } catch (ClassCastException | PatternSyntaxException error) {
            throw wrong("pattern", "must be a regular expression: " + error.getMessage());
        }
    }

    /** Returns null if it is missing. */
    SchemaCheck schema(String keyword) {
        return has(keyword) ? SchemaCheck.of(value(keyword), Violations.below(pointer, keyword)) : null;
    }

    /** Returns an empty collection if it is missing. */
    Map<String, SchemaCheck> schemas(String keyword) {
        Map<String, SchemaCheck> checks = new LinkedHashMap<>();
        if (has(keyword)) {
            JSONObject schemas = schema.optJSONObject(keyword);
            if (schemas == null) {
                throw wrong(keyword, "must be an object");
            }
            String below = Violations.below(pointer, keyword);
            for (Iterator<String> names = schemas.keys(); names.hasNext(); ) {
                String name = names.next();
                checks.put(name, SchemaCheck.of(schemas.opt(name), Violations.below(below, name)));
            }
        }
        return checks;
    }

    private JSONArray array(String keyword) {
        JSONArray array = schema.optJSONArray(keyword);
        if (array == null) {
            throw wrong(keyword, "must be an array");
        }
        return array;
    }

    private IllegalArgumentException wrong(String keyword, String what) {
        return new IllegalArgumentException("schema: " + Violations.below(pointer, keyword) + " " + what);
    }
}
