package dev.toolway.provider;

import java.math.BigDecimal;
import java.util.Iterator;
import org.json.JSONArray;
import org.json.JSONObject;

/** Types and equality of values, as JSON Schema defines them. */
final class JsonValues {
    private JsonValues() {}

    /** Returns the value's type in JSON Schema; "number" also for integers. */
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

    /** Returns true if the value has this type. A number without a fraction is an integer, also if written as 1.0. */
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

    /** Returns true if the values are equal. 1 equals 1.0; the order of an object's names does not matter. */
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

    /** Returns the value as JSON, truncated if it is long. */
    static String shown(Object value) {
        String text = value instanceof String ? JSONObject.quote((String) value) : String.valueOf(value);
        return cut(text, 120);
    }

    /** Returns at most this many characters of the text, without splitting a surrogate pair. */
    static String cut(String text, int length) {
        if (text.length() <= length) {
            return text;
        }
        int end = Character.isHighSurrogate(text.charAt(length - 1)) ? length - 1 : length;
        return text.substring(0, end) + "…";
    }
}
