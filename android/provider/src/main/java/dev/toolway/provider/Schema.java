package dev.toolway.provider;

import java.util.Arrays;
import java.util.Objects;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Builds the JSON Schema of a tool's parameters, or of a part of them. Each method changes this schema and returns it,
 * so that calls can be chained.
 */
public final class Schema {
    private final JSONObject json;

    private Schema(JSONObject json) {
        this.json = json;
    }

    /**
     * Creates the schema of a string.
     *
     * @return the schema
     */
    public static Schema string() {
        return ofType("string");
    }

    /**
     * Creates the schema of an integer.
     *
     * @return the schema
     */
    public static Schema integer() {
        return ofType("integer");
    }

    /**
     * Creates the schema of a number.
     *
     * @return the schema
     */
    public static Schema number() {
        return ofType("number");
    }

    /**
     * Creates the schema of a boolean.
     *
     * @return the schema
     */
    public static Schema bool() {
        return ofType("boolean");
    }

    /**
     * Creates the schema of an array.
     *
     * @param items schema of its items
     * @return the schema
     */
    public static Schema array(Schema items) {
        return ofType("array").put("items", items.json);
    }

    /**
     * Creates the schema of an object without properties, for example for a tool's parameters.
     *
     * @return the schema
     */
    public static Schema obj() {
        return ofType("object").put("properties", new JSONObject()).put("required", new JSONArray());
    }

    /**
     * Parses a schema.
     *
     * @param text a JSON object
     * @return the schema
     * @throws IllegalArgumentException if the text is not a JSON object
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
     * Sets the description. Models use it to choose a value.
     *
     * @param text one or two sentences
     * @return this
     */
    public Schema description(String text) {
        return put("description", text);
    }

    /**
     * Allows only these values ({@code enum}).
     *
     * @param values strings, numbers, booleans or {@code JSONObject.NULL}
     * @return this
     */
    public Schema values(Object... values) {
        return put("enum", new JSONArray(Arrays.asList(values)));
    }

    /**
     * Sets the default. In a tool's parameters, it is filled in before the tool's code runs.
     *
     * @param value a string, number, boolean, JSONArray or JSONObject
     * @return this
     */
    public Schema byDefault(Object value) {
        return put("default", value);
    }

    /**
     * Also allows null.
     *
     * @return this
     */
    public Schema orNull() {
        return put("type", new JSONArray(Arrays.asList(json.opt("type"), "null")));
    }

    /**
     * Sets the minimum.
     *
     * @param bound the minimum
     * @return this
     */
    public Schema minimum(Number bound) {
        return put("minimum", bound);
    }

    /**
     * Sets the maximum.
     *
     * @param bound the maximum
     * @return this
     */
    public Schema maximum(Number bound) {
        return put("maximum", bound);
    }

    /**
     * Sets the exclusive minimum.
     *
     * @param bound the exclusive minimum
     * @return this
     */
    public Schema exclusiveMinimum(Number bound) {
        return put("exclusiveMinimum", bound);
    }

    /**
     * Sets the exclusive maximum.
     *
     * @param bound the exclusive maximum
     * @return this
     */
    public Schema exclusiveMaximum(Number bound) {
        return put("exclusiveMaximum", bound);
    }

    /**
     * Sets the minimum length of a string.
     *
     * @param characters number of code points
     * @return this
     */
    public Schema minLength(int characters) {
        return put("minLength", characters);
    }

    /**
     * Sets the maximum length of a string.
     *
     * @param characters number of code points
     * @return this
     */
    public Schema maxLength(int characters) {
        return put("maxLength", characters);
    }

    /**
     * Sets a pattern that occurs in the string. Anchor it with {@code ^} and {@code $} to match the whole string.
     *
     * @param expression a regular expression with the same meaning in JavaScript and Java
     * @return this
     */
    public Schema pattern(String expression) {
        return put("pattern", expression);
    }

    /**
     * Sets the minimum number of items.
     *
     * @param count number of items
     * @return this
     */
    public Schema minItems(int count) {
        return put("minItems", count);
    }

    /**
     * Sets the maximum number of items.
     *
     * @param count number of items
     * @return this
     */
    public Schema maxItems(int count) {
        return put("maxItems", count);
    }

    /**
     * Adds an optional property to an object.
     *
     * @param name name of the property
     * @param schema its schema
     * @return this
     */
    public Schema property(String name, Schema schema) {
        try {
            json.getJSONObject("properties").put(name, schema.json);
        } catch (JSONException error) {
            throw new IllegalStateException("only an object schema can have properties", error);
        }
        return this;
    }

    /**
     * Adds a required property to an object.
     *
     * @param name name of the property
     * @param schema its schema
     * @return this
     */
    public Schema required(String name, Schema schema) {
        property(name, schema);
        try {
            json.getJSONArray("required").put(name);
        } catch (JSONException error) {
            throw new IllegalStateException("only an object schema can have properties", error);
        }
        return this;
    }

    /**
     * Forbids additional properties.
     *
     * @return this
     */
    public Schema closed() {
        return put("additionalProperties", false);
    }

    /**
     * Returns the schema as JSON.
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
