package dev.toolway.provider;

import java.math.BigDecimal;
import java.util.Iterator;
import org.json.JSONArray;
import org.json.JSONObject;

/** What JSON Schema says about values: their types, and when two are the same. */
final class JsonValues {
    private JsonValues() {}

    /** The value's type as JSON Schema names it; whole numbers are "number" too. */
    static String typeOf(Object value) {
        if (value instanceof JSONObject) {
            return "object";
        } else if (value instanceof JSONArray) {
            return "array";
        } else if (value instanceof String) {
            return "string";
        } else if (value instanceof Boolean) {
            return "boolean";
        } else if (value instanceof Number) {
            return "number";
        }
        return "null";
    }

    /** Whether the value has this type. A number without a fraction is an integer, however it is written. */
    static boolean isOf(String type, Object value) {
        return type.equals("integer") ? isWhole(value) : type.equals(typeOf(value));
    }

    private static boolean isWhole(Object value) {
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            return !Double.isInfinite(number) && number == Math.rint(number);
        }
        return value instanceof Number && decimal((Number) value).stripTrailingZeros().scale() <= 0;
    }

    static BigDecimal decimal(Number number) {
        return number instanceof BigDecimal ? (BigDecimal) number : new BigDecimal(number.toString());
    }

    /** Equality of JSON values: 1 and 1.0 are the same, the order of an object's names does not count. */
    static boolean same(Object one, Object other) {
        if (!typeOf(one).equals(typeOf(other))) {
            return false;
        } else if (one instanceof Number) {
            return decimal((Number) one).compareTo(decimal((Number) other)) == 0;
        } else if (one instanceof JSONArray) {
            return sameItems((JSONArray) one, (JSONArray) other);
        } else if (one instanceof JSONObject) {
            return sameProperties((JSONObject) one, (JSONObject) other);
        }
        return typeOf(one).equals("null") || one.equals(other);
    }

    private static boolean sameItems(JSONArray one, JSONArray other) {
        boolean same = one.length() == other.length();
        for (int i = 0; same && i < one.length(); i++) {
            same = same(one.opt(i), other.opt(i));
        }
        return same;
    }

    private static boolean sameProperties(JSONObject one, JSONObject other) {
        boolean same = one.length() == other.length();
        for (Iterator<String> names = one.keys(); same && names.hasNext(); ) {
            String name = names.next();
            same = other.has(name) && same(one.opt(name), other.opt(name));
        }
        return same;
    }

    /** The value as JSON, cut where it is long. */
    static String shown(Object value) {
        String text = value instanceof String ? JSONObject.quote((String) value) : String.valueOf(value);
        return cut(text, 120);
    }

    /** The text, cut to this many characters without splitting a pair of surrogates. */
    static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        int end = Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length;
        return text.substring(0, end) + "…";
    }
}
