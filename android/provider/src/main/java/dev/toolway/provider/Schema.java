package dev.toolway.provider;

import java.util.Arrays;
import java.util.Objects;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Builds the JSON Schema of a tool's parameters, or of a part of them. Each method changes this schema and gives it
 * back, so that they can be written one after the other.
 */
public final class Schema {
    private final JSONObject json;

    private Schema(JSONObject json) {
        this.json = json;
    }

    /**
     * A text.
     *
     * @return the schema
     */
    public static Schema string() {
        return ofType("string");
    }

    /**
     * A whole number.
     *
     * @return the schema
     */
    public static Schema integer() {
        return ofType("integer");
    }

    /**
     * A number.
     *
     * @return the schema
     */
    public static Schema number() {
        return ofType("number");
    }

    /**
     * True or false.
     *
     * @return the schema
     */
    public static Schema bool() {
        return ofType("boolean");
    }

    /**
     * An array.
     *
     * @param items what each of its items must be
     * @return the schema
     */
    public static Schema array(Schema items) {
        return ofType("array").put("items", items.json);
    }

    /**
     * An object, at first without properties. A tool's parameters are one.
     *
     * @return the schema
     */
    public static Schema obj() {
        return ofType("object").put("properties", new JSONObject()).put("required", new JSONArray());
    }

    /**
     * A schema that is written out.
     *
     * @param text a JSON object
     * @return the schema
     * @throws IllegalArgumentException where the text is no JSON object
     */
    public static Schema json(String text) {
        try {
            return new Schema((JSONObject) StrictJson.parse(text));
        } catch (MalformedJson | ClassCastException error) {
            throw new IllegalArgumentException("schema: not a JSON object: " + error.getMessage(), error);
        }
    }

    private static Schema ofType(String type) {
        return new Schema(new JSONObject()).put("type", type);
    }

    /**
     * Says what the value is for. Models choose by it.
     *
     * @param text in a sentence or two
     * @return this
     */
    public Schema description(String text) {
        return put("description", text);
    }

    /**
     * Only these values ({@code enum}).
     *
     * @param values texts, numbers, booleans or {@code JSONObject.NULL}
     * @return this
     */
    public Schema values(Object... values) {
        return put("enum", new JSONArray(Arrays.asList(values)));
    }

    /**
     * What counts where the value is left out ({@code default}). In a tool's parameters it is filled in before the
     * tool's code sees them.
     *
     * @param value a text, number, boolean, JSONArray or JSONObject
     * @return this
     */
    public Schema byDefault(Object value) {
        return put("default", value);
    }

    /**
     * The value may be null, too.
     *
     * @return this
     */
    public Schema orNull() {
        return put("type", new JSONArray(Arrays.asList(json.opt("type"), "null")));
    }

    /**
     * No number below this.
     *
     * @param bound the least
     * @return this
     */
    public Schema minimum(Number bound) {
        return put("minimum", bound);
    }

    /**
     * No number above this.
     *
     * @param bound the greatest
     * @return this
     */
    public Schema maximum(Number bound) {
        return put("maximum", bound);
    }

    /**
     * Only numbers above this.
     *
     * @param bound what is too little
     * @return this
     */
    public Schema exclusiveMinimum(Number bound) {
        return put("exclusiveMinimum", bound);
    }

    /**
     * Only numbers below this.
     *
     * @param bound what is too much
     * @return this
     */
    public Schema exclusiveMaximum(Number bound) {
        return put("exclusiveMaximum", bound);
    }

    /**
     * No shorter text.
     *
     * @param characters counted as code points
     * @return this
     */
    public Schema minLength(int characters) {
        return put("minLength", characters);
    }

    /**
     * No longer text.
     *
     * @param characters counted as code points
     * @return this
     */
    public Schema maxLength(int characters) {
        return put("maxLength", characters);
    }

    /**
     * Only texts in which this is found. Anchor it with {@code ^} and {@code $} where it is to be the whole.
     *
     * @param expression a regular expression that JavaScript and Java understand alike
     * @return this
     */
    public Schema pattern(String expression) {
        return put("pattern", expression);
    }

    /**
     * No shorter array.
     *
     * @param count of items
     * @return this
     */
    public Schema minItems(int count) {
        return put("minItems", count);
    }

    /**
     * No longer array.
     *
     * @param count of items
     * @return this
     */
    public Schema maxItems(int count) {
        return put("maxItems", count);
    }

    /**
     * Gives an object a property that may be left out.
     *
     * @param name of the property
     * @param schema what it must be
     * @return this
     */
    public Schema property(String name, Schema schema) {
        try {
            json.getJSONObject("properties").put(name, schema.json);
        } catch (JSONException error) {
            throw new IllegalStateException("only an object has properties", error);
        }
        return this;
    }

    /**
     * Gives an object a property that must be there.
     *
     * @param name of the property
     * @param schema what it must be
     * @return this
     */
    public Schema required(String name, Schema schema) {
        property(name, schema);
        try {
            json.getJSONArray("required").put(name);
        } catch (JSONException error) {
            throw new IllegalStateException("only an object has properties", error);
        }
        return this;
    }

    /**
     * An object has no other properties than those it was given.
     *
     * @return this
     */
    public Schema closed() {
        return put("additionalProperties", false);
    }

    /**
     * The schema as JSON.
     *
     * @return the text
     */
    @Override
    public String toString() {
        return json.toString();
    }

    private Schema put(String keyword, Object value) {
        try {
            json.put(keyword, Objects.requireNonNull(value, keyword));
        } catch (JSONException error) {
            throw new IllegalArgumentException(keyword + ": " + error.getMessage(), error);
        }
        return this;
    }
}
