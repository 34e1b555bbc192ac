package dev.toolway.provider;

import java.math.BigDecimal;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * Validates values against one schema (JSON Schema 2020-12, Validation). Unknown keywords allow every value, and never
 * make another keyword reject a valid value.
 */
final class SchemaCheck {
    /** Result of the schemas `true` and `false`; null for other schemas. */
    private final Boolean verdict;

    private final List<String> types;
    private final List<Object> values;
    private final boolean hasConstant;
    private final Object constant;
    private final Map<String, SchemaCheck> properties;
    private final List<String> required;
    private final SchemaCheck otherProperties;
    private final SchemaCheck items;
    private final BigDecimal minimum;
    private final BigDecimal maximum;
    private final BigDecimal above;
    private final BigDecimal below;
    private final Integer minLength;
    private final Integer maxLength;
    private final Integer minItems;
    private final Integer maxItems;
    private final Pattern pattern;

    private SchemaCheck(Boolean verdict, Keywords keywords) {
        this.verdict = verdict;
        types = keywords.types();
        values = keywords.values("enum");
        hasConstant = keywords.has("const");
        constant = keywords.value("const");
        properties = keywords.schemas("properties");
        required = keywords.strings("required");
        // Properties that match patternProperties are not additional ones.
        otherProperties = keywords.has("patternProperties") ? null : keywords.schema("additionalProperties");
        // Next to `prefixItems`, and as an array in older drafts, it applies to some items only.
        boolean aboutAll = !keywords.has("prefixItems") && !(keywords.value("items") instanceof JSONArray);
        items = aboutAll ? keywords.schema("items") : null;
        minimum = keywords.number("minimum");
        maximum = keywords.number("maximum");
        above = keywords.number("exclusiveMinimum");
        below = keywords.number("exclusiveMaximum");
        minLength = keywords.count("minLength");
        maxLength = keywords.count("maxLength");
        minItems = keywords.count("minItems");
        maxItems = keywords.count("maxItems");
        pattern = keywords.pattern();
    }

    /**
     * Reads a schema.
     *
     * @param schema an object, true or false
     * @param pointer its location, for errors
     * @throws IllegalArgumentException if it is not a schema
     */
    static SchemaCheck of(Object schema, String pointer) {
        if (schema instanceof Boolean) {
            return new SchemaCheck((Boolean) schema, new Keywords(new JSONObject(), pointer));
        } else if (schema instanceof JSONObject) {
            return new SchemaCheck(null, new Keywords((JSONObject) schema, pointer));
        }
        throw new IllegalArgumentException("schema: " + pointer + " must be an object, true or false");
    }

    /** Returns the allowed types of a property; null if any is allowed. */
    List<String> typesOf(String property) {
        SchemaCheck check = properties.containsKey(property) ? properties.get(property) : otherProperties;
        return check == null ? null : check.types;
    }

    /** Returns true if a property may be null. */
    boolean allowsNull(String property) {
        SchemaCheck check = properties.get(property);
        Violations found = new Violations();
        if (check != null) {
            check.check(JSONObject.NULL, "", found);
        }
        return found.isEmpty();
    }

    /** Adds the violations of the value at this location. */
    void check(Object value, String pointer, Violations found) {
        if (verdict != null) {
            if (!verdict) {
                found.add(pointer, "is not allowed");
            }
            return;
        }
        if (types != null && !hasType(value)) {
            found.add(pointer, "must be " + String.join(" or ", types) + ", is " + JsonValues.typeOf(value));
            return;
        }
        if (values != null && !isAmongValues(value)) {
            found.add(pointer, "must be one of " + JsonValues.shown(new JSONArray(values)));
        }
        if (hasConstant && !JsonValues.same(constant, value)) {
            found.add(pointer, "must be " + JsonValues.shown(constant));
        }
        if (value instanceof JSONObject) {
            checkProperties((JSONObject) value, pointer, found);
        } else if (value instanceof JSONArray) {
            checkItems((JSONArray) value, pointer, found);
        } else if (value instanceof String) {
            checkText((String) value, pointer, found);
        } else if (value instanceof Number) {
            checkNumber(JsonValues.decimal((Number) value), pointer, found);
        }
    }

    private boolean hasType(Object value) {
        for (String type : types) {
            if (JsonValues.isOf(type, value)) {
                return true;
            }
        }
        return false;
    }

    private boolean isAmongValues(Object value) {
        for (Object allowed : values) {
            if (JsonValues.same(allowed, value)) {
                return true;
            }
        }
        return false;
    }

    private void checkProperties(JSONObject value, String pointer, Violations found) {
        for (String name : required) {
            if (!value.has(name)) {
                found.add(Violations.below(pointer, name), "is missing");
            }
        }
        checkPresent(value, pointer, found);
    }

    /** Validates the existing properties; missing ones are not reported. */
    void checkPresent(JSONObject value, String pointer, Violations found) {
        for (Iterator<String> names = value.keys(); names.hasNext(); ) {
            String name = names.next();
            SchemaCheck check = properties.containsKey(name) ? properties.get(name) : otherProperties;
            if (check != null) {
                check.check(value.opt(name), Violations.below(pointer, name), found);
            }
        }
    }

    private void checkItems(JSONArray value, String pointer, Violations found) {
        count(value.length(), minItems, maxItems, "items", pointer, found);
        for (int i = 0; items != null && i < value.length(); i++) {
            items.check(value.opt(i), pointer + "/" + i, found);
        }
    }

    private void checkText(String value, String pointer, Violations found) {
        count(value.codePointCount(0, value.length()), minLength, maxLength, "characters", pointer, found);
        if (pattern != null && !pattern.matcher(value).find()) {
            found.add(pointer, "must match " + JsonValues.shown(pattern.pattern()));
        }
    }

    private static void count(
            int count, Integer least, Integer most, String what, String pointer, Violations found) {
        if (least != null && count < least) {
            found.add(pointer, "must have at least " + least + " " + what + ", has " + count);
        }
        if (most != null && count > most) {
            found.add(pointer, "must have at most " + most + " " + what + ", has " + count);
        }
    }

    private void checkNumber(BigDecimal value, String pointer, Violations found) {
        if (minimum != null && value.compareTo(minimum) < 0) {
            found.add(pointer, "must be at least " + minimum + ", is " + value);
        }
        if (maximum != null && value.compareTo(maximum) > 0) {
            found.add(pointer, "must be at most " + maximum + ", is " + value);
        }
        if (above != null && value.compareTo(above) <= 0) {
            found.add(pointer, "must be above " + above + ", is " + value);
        }
        if (below != null && value.compareTo(below) >= 0) {
            found.add(pointer, "must be below " + below + ", is " + value);
        }
    }
}
