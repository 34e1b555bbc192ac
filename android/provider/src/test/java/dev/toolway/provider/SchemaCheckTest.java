package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import org.junit.Test;

/** Tests validation. Sections refer to JSON Schema 2020-12, Core and Validation. */
public class SchemaCheckTest {
    private static String found(String schema, String value) {
        try {
            Violations found = new Violations();
            SchemaCheck.of(StrictJson.parse(schema), "").check(StrictJson.parse(value), "", found);
            return found.toString();
        } catch (MalformedJson error) {
            throw new AssertionError(error);
        }
    }

    private static void fits(String schema, String... values) {
        for (String value : values) {
            assertEquals(schema + " and " + value, "", found(schema, value));
        }
    }

    private static void refuses(String schema, String... values) {
        for (String value : values) {
            assertTrue(schema + " and " + value, !found(schema, value).isEmpty());
        }
    }

    /** Validation 6.1.1: a number without a fraction is an integer. */
    @Test
    public void type() {
        fits("{\"type\":\"integer\"}", "5", "5.0", "-0.0", "1e3", "9007199254740993", "18446744073709551616");
        refuses("{\"type\":\"integer\"}", "5.5", "\"5\"", "true", "null", "[]", "{}", "1e-1");
        fits("{\"type\":\"number\"}", "5", "5.5", "1e300");
        refuses("{\"type\":\"number\"}", "\"5\"", "false", "null");
        fits("{\"type\":\"string\"}", "\"\"", "\"5\"");
        refuses("{\"type\":\"string\"}", "5", "null", "{}", "[]", "true");
        fits("{\"type\":\"boolean\"}", "true", "false");
        refuses("{\"type\":\"boolean\"}", "0", "\"true\"", "null");
        fits("{\"type\":\"null\"}", "null");
        refuses("{\"type\":\"null\"}", "0", "false", "\"\"");
        fits("{\"type\":\"object\"}", "{}");
        refuses("{\"type\":\"object\"}", "[]", "null");
        fits("{\"type\":\"array\"}", "[]");
        refuses("{\"type\":\"array\"}", "{}");
        fits("{\"type\":[\"integer\",\"null\"]}", "5", "5.0", "null");
        refuses("{\"type\":[\"integer\",\"null\"]}", "5.5", "\"5\"");
        assertEquals(
                "value: must be integer or null, is string", found("{\"type\":[\"integer\",\"null\"]}", "\"5\""));
    }

    /** Core 4.3.2: true and {} allow everything, false nothing. */
    @Test
    public void booleanSchemas() {
        fits("true", "1", "null", "{}");
        fits("{}", "1", "null", "{}");
        refuses("false", "1", "null", "{}");
        refuses("{\"properties\":{\"a\":false}}", "{\"a\":1}");
        fits("{\"properties\":{\"a\":false}}", "{}");
    }

    /** Validation 6.1.2 and 6.1.3, Core 4.2.2: equality of JSON values. */
    @Test
    public void enumAndConst() {
        fits("{\"enum\":[\"a\",1,null,[1,{\"x\":2}]]}", "\"a\"", "1", "1.0", "null", "[1.0,{\"x\":2}]");
        refuses("{\"enum\":[\"a\",1,null,[1,{\"x\":2}]]}", "\"A\"", "2", "false", "[1]", "[1,{\"x\":2,\"y\":3}]");
        refuses("{\"enum\":[]}", "null");
        refuses("{\"enum\":[1]}", "true", "\"1\"");
        refuses("{\"enum\":[0]}", "false");
        fits("{\"const\":{\"a\":1,\"b\":[]}}", "{\"b\":[],\"a\":1.0}");
        refuses("{\"const\":{\"a\":1,\"b\":[]}}", "{\"a\":1}", "{\"b\":[],\"c\":1}");
        fits("{\"const\":null}", "null");
        refuses("{\"const\":null}", "0");
        assertEquals("value: must be one of [\"stock\",\"fund\"]", found("{\"enum\":[\"stock\",\"fund\"]}", "\"x\""));
    }

    /** Validation 6.2.2 to 6.2.5: limits apply only to numbers. */
    @Test
    public void bounds() {
        fits("{\"minimum\":1,\"maximum\":3}", "1", "1.0", "3", "2.5", "\"x\"", "null");
        refuses("{\"minimum\":1,\"maximum\":3}", "0.999", "3.001", "-1");
        fits("{\"exclusiveMinimum\":1,\"exclusiveMaximum\":3}", "1.001", "2.999");
        refuses("{\"exclusiveMinimum\":1,\"exclusiveMaximum\":3}", "1", "3", "1.0");
        fits("{\"minimum\":0.1}", "0.1");
        refuses("{\"maximum\":9007199254740992}", "9007199254740993");
        assertEquals("value: must be at least 1, is 0", found("{\"minimum\":1}", "0"));
        assertEquals("value: must be below 3, is 3", found("{\"exclusiveMaximum\":3}", "3"));
    }

    /** Validation 6.3.1 and 6.3.2: characters, as RFC 8259 defines them, not UTF-16 units. */
    @Test
    public void lengths() {
        fits("{\"minLength\":2,\"maxLength\":2}", "\"ab\"", "\"😀😀\"", "\"äö\"", "12345");
        refuses("{\"minLength\":2,\"maxLength\":2}", "\"a\"", "\"abc\"", "\"😀\"", "\"\"");
        fits("{\"maxLength\":2.0}", "\"ab\"");
        assertEquals(
                "value: must have at most 2 characters, has 3", found("{\"maxLength\":2}", "\"😀😀😀\""));
    }

    /** Validation 6.3.3: not anchored. */
    @Test
    public void pattern() {
        fits("{\"pattern\":\"b+\"}", "\"abbc\"", "\"b\"", "7");
        refuses("{\"pattern\":\"b+\"}", "\"ac\"", "\"\"");
        fits("{\"pattern\":\"^\\\\d{4}-\\\\d{2}$\"}", "\"2025-01\"");
        refuses("{\"pattern\":\"^\\\\d{4}-\\\\d{2}$\"}", "\"2025-01-01\"");
    }

    /** Validation 6.4.1 and 6.4.2, Core 10.3.1.2. */
    @Test
    public void arrays() {
        String schema = "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":0},\"minItems\":1,\"maxItems\":3}";
        fits(schema, "[0]", "[1,2,3]");
        refuses(schema, "[]", "[1,2,3,4]", "[\"1\"]", "[null]");
        assertEquals(
                "/1: must be integer, is string; /2: must be at least 0, is -1", found(schema, "[1,\"x\",-1]"));
        fits("{\"items\":false}", "[]", "{}");
        refuses("{\"items\":false}", "[1]");
    }

    /** Core 10.3.2.1 and 10.3.2.3, Validation 6.5.3. */
    @Test
    public void objects() {
        String closed = "{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"],\"additionalProperties\":false}";
        fits(closed, "{\"a\":1}");
        refuses(closed, "{}", "{\"a\":1,\"b\":2}", "{\"a\":\"1\"}");
        assertEquals(
                "/a: is missing; /b: is not allowed", found(closed, "{\"b\":1}"));
        String others = "{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}";
        fits(others, "{\"a\":1}", "{\"b\":\"x\"}", "{}");
        refuses(others, "{\"b\":1}");
        fits("{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"b\":\"x\"}");
        // A property with the value null is present.
        fits("{\"required\":[\"a\"]}", "{\"a\":null}", "[]");
    }

    @Test
    public void violationsHaveJsonPointers() {
        String schema = "{\"properties\":{\"a/b\":{\"properties\":{\"c~d\":{\"items\":{\"required\":[\"x\"]}}}}}}";
        assertEquals("/a~1b/c~0d/1/x: is missing", found(schema, "{\"a/b\":{\"c~d\":[{\"x\":1},{}]}}"));
    }

    @Test
    public void firstViolationsAreListedAndOthersCounted() {
        String items = String.join(",", Collections.nCopies(25, "\"x\""));
        String told = found("{\"items\":{\"type\":\"integer\"}}", "[" + items + "]");
        assertTrue(told, told.startsWith("/0: must be integer, is string; /1: "));
        assertTrue(told, told.endsWith("/19: must be integer, is string; and 5 more"));
    }

    /** Unknown keywords must not make other keywords reject valid values. */
    @Test
    public void unknownKeywordsAllowEverything() {
        fits("{\"format\":\"date\",\"multipleOf\":2,\"uniqueItems\":true,\"x-mine\":1}", "\"x\"", "3", "[1,1]");
        fits("{\"patternProperties\":{\"^x\":{}},\"additionalProperties\":false}", "{\"x1\":1}");
        fits("{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"integer\"}}", "[\"a\",1]");
        fits("{\"items\":[{\"type\":\"string\"}]}", "[\"a\",1]");
        fits("{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"string\"}}}", "1");
    }

    @Test
    public void invalidSchemasAreRefusedWithPointer() {
        String[][] wrong = {
            {"{\"type\":\"text\"}", "/type must be one of"},
            {"{\"type\":1}", "/type must be an array"},
            {"{\"properties\":[]}", "/properties must be an object"},
            {"{\"properties\":{\"a\":1}}", "/properties/a must be an object, true or false"},
            {"{\"required\":\"a\"}", "/required must be an array"},
            {"{\"required\":[1]}", "/required must contain only strings"},
            {"{\"enum\":{}}", "/enum must be an array"},
            {"{\"minimum\":\"1\"}", "/minimum must be a number"},
            {"{\"exclusiveMinimum\":true}", "/exclusiveMinimum must be a number"},
            {"{\"minLength\":-1}", "/minLength must be a non-negative integer"},
            {"{\"maxItems\":1.5}", "/maxItems must be a non-negative integer"},
            {"{\"pattern\":\"(\"}", "/pattern must be a regular expression"},
            {"{\"pattern\":1}", "/pattern must be a regular expression"},
            {"{\"properties\":{\"a\":{\"items\":{\"minItems\":null}}}}", "/properties/a/items/minItems must be"},
        };
        for (String[] pair : wrong) {
            IllegalArgumentException error = assertThrows(
                    pair[0], IllegalArgumentException.class, () -> SchemaCheck.of(StrictJson.parse(pair[0]), ""));
            assertTrue(error.getMessage(), error.getMessage().startsWith("schema: " + pair[1]));
        }
    }
}
