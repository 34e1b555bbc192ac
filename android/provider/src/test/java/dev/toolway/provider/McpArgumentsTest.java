package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.json.JSONObject;
import org.junit.Test;

public class McpArgumentsTest {
    private static final Tool TOOL = new Tool(
            "t",
            "A tool",
            Schema.obj()
                    .property("text", Schema.string())
                    .property("whole", Schema.integer())
                    .property("number", Schema.number())
                    .property("flag", Schema.bool())
                    .property("list", Schema.array(Schema.integer()))
                    .property("object", Schema.obj())
                    .property("maybe", Schema.integer().orNull())
                    .property("either", Schema.json("{\"type\":[\"integer\",\"string\"]}"))
                    .property("any", Schema.json("{}")),
            call -> ToolResult.text(""));

    private static Object read(String name, String value) throws ToolException {
        return McpArguments.read(TOOL, Collections.singletonMap(name, value)).opt(name);
    }

    @Test
    public void textsAreConvertedToDeclaredTypes() throws Exception {
        assertEquals("5", read("text", "5"));
        assertEquals("\"quoted\"", read("text", "\"quoted\""));
        assertEquals(5, read("whole", "5"));
        assertEquals(5, read("whole", " 5 "));
        assertEquals(5.0, read("whole", "5.0"));
        assertEquals(5, read("number", "5"));
        assertEquals(-2.5, read("number", "-2.5"));
        assertEquals(true, read("flag", "true"));
        assertEquals(false, read("flag", "false"));
        assertEquals("[1,2]", read("list", "[1, 2]").toString());
        assertEquals("{\"a\":[true]}", read("object", "{\"a\":[true]}").toString());
        assertEquals(JSONObject.NULL, read("maybe", "null"));
        assertEquals(7, read("maybe", "7"));
        assertEquals("7", read("either", "7"));
        assertEquals("7", read("any", "7"));
        assertEquals("7", read("undeclared", "7"));
    }

    @Test
    public void unconvertibleTextIsRefusedBySchema() throws Exception {
        String[][] wrong = {
            {"whole", "five"}, {"whole", "5.5"}, {"whole", ""}, {"number", "0x10"}, {"number", "NaN"}, {"flag", "yes"},
            {"flag", "True"}, {"list", "[1,"}, {"list", "{}"}, {"object", "[]"}, {"object", "{a:1}"}, {"whole", "true"}
        };
        for (String[] pair : wrong) {
            JSONObject arguments = McpArguments.read(TOOL, Collections.singletonMap(pair[0], pair[1]));
            assertEquals(pair[1], arguments.get(pair[0]));
            assertThrows(pair[0] + " " + pair[1], ToolException.class, () -> TOOL.prepare(arguments));
        }
    }

    @Test
    public void nullIsOmittedAndPlainValuesAreAccepted() throws Exception {
        Map<String, Object> given = new LinkedHashMap<>();
        given.put("text", null);
        given.put("whole", 5);
        given.put("flag", true);
        JSONObject arguments = McpArguments.read(TOOL, given);
        assertFalse(arguments.has("text"));
        assertEquals(5, arguments.get("whole"));
        assertEquals(true, arguments.get("flag"));
    }

    @Test
    public void onlyMapsOfPlainValuesAreAccepted() {
        Map<?, ?>[] wrong = {
            Collections.singletonMap("a", new Object()), Collections.singletonMap(1, "x"),
            Collections.singletonMap("number", Double.NaN), Collections.singletonMap(null, "x")
        };
        for (Map<?, ?> given : wrong) {
            ToolException error = assertThrows(ToolException.class, () -> McpArguments.read(TOOL, given));
            assertEquals(ErrorCode.INVALID_ARGS, error.code());
        }
        ToolException error = assertThrows(ToolException.class, () -> McpArguments.read(TOOL, null));
        assertTrue(error.getMessage(), error.getMessage().contains("tool_arguments"));
    }
}
