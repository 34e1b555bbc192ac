package dev.toolway.provider;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.Test;

public class ToolTest {
    private static final ToolCode NOTHING = call -> ToolResult.text("");

    private static Tool tool(Schema parameters) {
        return new Tool("t", "A tool", parameters, NOTHING);
    }

    private static String refusal(String name, Schema parameters) {
        return assertThrows(
                        IllegalArgumentException.class, () -> new Tool(name, "A tool", parameters, NOTHING))
                .getMessage();
    }

    @Test
    public void builderProducesExpectedSchema() throws Exception {
        Schema built = Schema.obj()
                .required("start", Schema.string().description("When").pattern("^\\d").minLength(1).maxLength(10))
                .property("limit", Schema.integer().byDefault(50).minimum(1).maximum(100).orNull())
                .property("share", Schema.number().exclusiveMinimum(0).exclusiveMaximum(1.5))
                .property("tags", Schema.array(Schema.string().values("a", "b")).minItems(1).maxItems(2))
                .property("deep", Schema.obj().required("on", Schema.bool()).closed());
        Object meant = StrictJson.parse("{\"type\":\"object\",\"required\":[\"start\"],\"properties\":{"
                + "\"start\":{\"type\":\"string\",\"description\":\"When\",\"pattern\":\"^\\\\d\",\"minLength\":1,\"maxLength\":10},"
                + "\"limit\":{\"type\":[\"integer\",\"null\"],\"default\":50,\"minimum\":1,\"maximum\":100},"
                + "\"share\":{\"type\":\"number\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":1.5},"
                + "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]},\"minItems\":1,\"maxItems\":2},"
                + "\"deep\":{\"type\":\"object\",\"properties\":{\"on\":{\"type\":\"boolean\"}},\"required\":[\"on\"],"
                + "\"additionalProperties\":false}}}");
        assertTrue(built.toString(), JsonValues.same(meant, StrictJson.parse(built.toString())));
        assertArrayEquals(new String[] {"start"}, tool(built).required());
    }

    @Test
    public void schemaCanBeParsedFromText() {
        assertEquals("integer", Schema.json("{\"type\":\"integer\"}").toString().split("\"")[3]);
        assertThrows(IllegalArgumentException.class, () -> Schema.json("{'type':'integer'}"));
        assertThrows(IllegalArgumentException.class, () -> Schema.json("[]"));
        assertThrows(IllegalStateException.class, () -> Schema.string().property("a", Schema.string()));
    }

    @Test
    public void namesAndSchemasAreValidatedOnDeclaration() {
        assertTrue(refusal("", Schema.obj()).contains("a name has 1 to 64"));
        assertTrue(refusal("a b", Schema.obj()).contains("a name has 1 to 64"));
        assertTrue(refusal("a.b", Schema.obj()).contains("a name has 1 to 64"));
        new Tool("get_Data-2", "A tool", Schema.obj(), NOTHING);
        assertEquals("tool t: schema: /type must be \"object\"", refusal("t", Schema.string()));
        assertEquals("tool t: schema: /type must be \"object\"", refusal("t", Schema.json("{}")));
        assertEquals(
                "tool t: schema: /properties/a/minimum must be a number",
                refusal("t", Schema.json("{\"type\":\"object\",\"properties\":{\"a\":{\"minimum\":\"1\"}}}")));
        assertEquals(
                "tool t: invalid default: /a: must be integer, is string",
                refusal("t", Schema.obj().property("a", Schema.integer().byDefault("x"))));
        // A default of one property does not require the others.
        tool(Schema.obj().required("b", Schema.string()).property("a", Schema.integer().byDefault(1)));
    }

    @Test
    public void nullCountsAsMissingWhereOnlyAnotherTypeIsAllowed() throws Exception {
        Tool tool = tool(Schema.obj()
                .required("words", Schema.string())
                .property("limit", Schema.integer().byDefault(50))
                .property("folder", Schema.string())
                .property("until", Schema.string().orNull()));
        JSONObject arguments =
                (JSONObject) StrictJson.parse("{\"words\":\"x\",\"limit\":null,\"folder\":null,\"until\":null}");
        tool.prepare(arguments);
        assertEquals(50, arguments.getInt("limit"));
        assertTrue(!arguments.has("folder"));
        assertTrue("allowed by its schema", arguments.has("until") && arguments.isNull("until"));
        JSONObject required = (JSONObject) StrictJson.parse("{\"words\":null}");
        assertEquals(
                "invalid arguments: /words: must be string, is null",
                assertThrows(ToolException.class, () -> tool.prepare(required)).getMessage());
    }

    @Test
    public void missingArgumentsGetDefaults() throws Exception {
        Tool tool = tool(Schema.obj()
                .property("limit", Schema.integer().byDefault(50))
                .property("tags", Schema.array(Schema.string()).byDefault(new JSONArray().put("x")))
                .property("name", Schema.string()));
        JSONObject arguments = new JSONObject();
        tool.prepare(arguments);
        assertEquals(50, arguments.getInt("limit"));
        assertEquals("x", arguments.getJSONArray("tags").getString(0));
        assertNull(arguments.opt("name"));
        // Each call has its own copy.
        arguments.getJSONArray("tags").put("y");
        JSONObject others = new JSONObject().put("limit", 7);
        tool.prepare(others);
        assertEquals(7, others.getInt("limit"));
        assertEquals(1, others.getJSONArray("tags").length());
    }

    @Test
    public void defaultDoesNotReplaceRequiredArgument() {
        Tool tool = tool(Schema.obj().required("a", Schema.integer().byDefault(1)));
        ToolException error = assertThrows(ToolException.class, () -> tool.prepare(new JSONObject()));
        assertEquals(ErrorCode.INVALID_ARGS, error.code());
        assertEquals("invalid arguments: /a: is missing", error.getMessage());
    }

    @Test
    public void laterChangeOfSchemaDoesNotAffectTool() throws Exception {
        Schema parameters = Schema.obj();
        Tool tool = tool(parameters);
        parameters.required("a", Schema.string());
        tool.prepare(new JSONObject());
    }

    @Test
    public void resultsBecomeJsonOrText() throws Exception {
        assertEquals("{\"a\":1}", ToolResult.json(new JSONObject().put("a", 1)).toJson());
        assertEquals("[1]", ToolResult.json(new JSONArray().put(1)).toText());
        assertEquals("{ \"a\" : 1 }", ToolResult.json("{ \"a\" : 1 }").toText());
        assertEquals("sunny \"today\"", ToolResult.text("sunny \"today\"").toText());
        assertEquals("\"sunny \\\"today\\\"\"", ToolResult.text("sunny \"today\"").toJson());
        assertThrows(ToolException.class, () -> ToolResult.json("{a:1}").toJson());
        JSONArray infinite = new JSONArray(java.util.Collections.singletonList(Double.POSITIVE_INFINITY));
        ToolException error = assertThrows(ToolException.class, () -> ToolResult.json(infinite).toJson());
        assertEquals(ErrorCode.INTERNAL_ERROR, error.code());
    }
}
