package dev.toolway.provider;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import android.net.Uri;
import android.os.Bundle;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.json.JSONObject;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;

/** Tests the dialects of MCP with the same declaration. */
@RunWith(RobolectricTestRunner.class)
public class McpTest {
    private final SampleTools provider = SampleTools.start();
    private final CallingApp app = CallingApp.install("com.example.bridge");

    private Bundle execute(String authority, String tool, Map<String, String> arguments) {
        Bundle extras = new Bundle();
        extras.putString("tool_name", tool);
        extras.putSerializable("tool_arguments", arguments == null ? null : new LinkedHashMap<>(arguments));
        return app.call(provider, authority, "execute_tool", extras);
    }

    private static void isError(String message, Bundle bundle) {
        assertEquals(Set.of("success", "error_message"), bundle.keySet());
        assertFalse(bundle.getBoolean("success", true));
        assertEquals(message, bundle.getString("error_message"));
    }

    @Test
    public void singleToolIsDescribedByKeys() throws Exception {
        Bundle info = app.call(provider, SampleTools.MCP, "get_tool_info", null);
        assertEquals(
                Set.of("success", "tool_name", "tool_description", "tool_input_schema", "tool_input_required"),
                info.keySet());
        assertTrue(info.getBoolean("success"));
        assertEquals("add", info.getString("tool_name"));
        assertEquals("Adds two numbers", info.getString("tool_description"));
        Object properties = StrictJson.parse("{\"a\":{\"type\":\"integer\",\"description\":\"First\"},"
                + "\"b\":{\"type\":\"integer\",\"description\":\"Second\"},"
                + "\"round\":{\"type\":\"boolean\",\"default\":false}}");
        assertTrue(JsonValues.same(properties, StrictJson.parse(info.getString("tool_input_schema"))));
        assertArrayEquals(new String[] {"a", "b"}, info.getStringArray("tool_input_required"));
    }

    @Test
    public void severalToolsAreDescribedInOneJsonText() throws Exception {
        Bundle info = app.call(provider, SampleTools.MCP_ALL, "get_tool_info", null);
        assertEquals(Set.of("success", "tool"), info.keySet());
        JSONObject tools = new JSONObject(info.getString("tool")).getJSONObject("tools");
        assertEquals(3, tools.length());
        String type = "se.premex.mcp.provider.ToolInput.";
        Object add = StrictJson.parse("{\"description\":\"Adds two numbers\",\"inputs\":["
                + "{\"type\":\"" + type + "IntegerInput\",\"name\":\"a\",\"description\":\"First\",\"required\":true},"
                + "{\"type\":\"" + type + "IntegerInput\",\"name\":\"b\",\"description\":\"Second\",\"required\":true},"
                + "{\"type\":\"" + type + "BooleanInput\",\"name\":\"round\",\"description\":\"\",\"required\":false}]}");
        assertTrue(tools.toString(), JsonValues.same(add, tools.get("add")));
    }

    @Test
    public void textsAreConvertedToParameterTypes() {
        Bundle answer = execute(SampleTools.MCP, "add", Map.of("a", "2", "b", "3.0", "round", "true"));
        assertEquals(Set.of("success", "tool_result"), answer.keySet());
        assertTrue(answer.getBoolean("success"));
        assertEquals("{\"sum\":5,\"round\":true}", answer.getString("tool_result"));
    }

    @Test
    public void textIsUnchangedAndActingToolsAreAllowed() {
        assertEquals("written", execute(SampleTools.MCP_WRITE, "write", Map.of()).getString("tool_result"));
        assertEquals("written", execute(SampleTools.MCP_ALL, "write", Map.of()).getString("tool_result"));
    }

    @Test
    public void authorityServesOnlyItsOwnTools() {
        isError("Unknown tool: echo", execute(SampleTools.MCP, "echo", Map.of()));
        isError("Unknown tool: fail", execute(SampleTools.MCP_ALL, "fail", Map.of()));
        assertTrue(execute(SampleTools.MCP_ALL, "echo", Map.of()).getBoolean("success"));
    }

    @Test
    public void badRequestsHaveErrorMessages() {
        isError(
                "invalid arguments: /b: is missing; /a: must be integer, is string",
                execute(SampleTools.MCP, "add", Map.of("a", "two")));
        isError("extras are missing; tool_name is required",
                app.call(provider, SampleTools.MCP, "execute_tool", null));
        isError("missing tool_name", app.call(provider, SampleTools.MCP, "execute_tool", new Bundle()));
        isError("Unknown method: list_tools", app.call(provider, SampleTools.MCP, "list_tools", null));
        isError("Unknown method: get_provider_info", app.call(provider, SampleTools.MCP, "get_provider_info", null));
    }

    @Test
    public void argumentsOfWrongClassAreRefused() {
        Bundle extras = new Bundle();
        extras.putString("tool_name", "add");
        isError("missing tool_arguments", app.call(provider, SampleTools.MCP, "execute_tool", extras));
        extras.putString("tool_arguments", "{\"a\":\"1\"}");
        isError("tool_arguments must be a map of strings", app.call(provider, SampleTools.MCP, "execute_tool", extras));
        extras.putSerializable("tool_arguments", new java.util.Date(0));
        isError("tool_arguments must be a map of strings", app.call(provider, SampleTools.MCP, "execute_tool", extras));
        LinkedHashMap<String, Object> nested = new LinkedHashMap<>();
        nested.put("a", new LinkedHashMap<String, String>());
        extras.putSerializable("tool_arguments", nested);
        isError("tool_arguments must be a map of strings", app.call(provider, SampleTools.MCP, "execute_tool", extras));
    }

    /** These dialects have no error code for it. */
    @Test
    public void refusalsHaveTheirHint() {
        provider.access = Access.authRequired("not allowed yet", "Open the app", "com.example.ACTION");
        isError("not allowed yet. Open the app", execute(SampleTools.MCP, "add", Map.of("a", "1", "b", "2")));
        isError("not allowed yet. Open the app", app.call(provider, SampleTools.MCP, "get_tool_info", null));
        provider.access = Access.deny("not for you");
        isError("not for you", execute(SampleTools.MCP_ALL, "echo", Map.of()));
    }

    @Test
    public void mimeTypeIsThatOfMcpTools() {
        assertEquals("application/vnd.mcp.tool", provider.getType(Uri.parse("content://" + SampleTools.MCP)));
        assertEquals("application/vnd.mcp.tool", provider.getType(Uri.parse("content://0@" + SampleTools.MCP_ALL)));
    }

    /** Before API 29, the system does not pass the called authority. */
    @Test
    public void authorityIsDerivedFromCallOnOldAndroid() {
        SampleTools two = SampleTools.start(SampleTools.CETP, SampleTools.MCP);
        assertEquals("add", two.call("get_tool_info", null, null).getString("tool_name"));
        assertEquals("success", two.call("list_tools", null, null).getString("status"));
        Bundle extras = new Bundle();
        extras.putString("tool_name", "add");
        extras.putString("args", "{\"a\":1,\"b\":2}");
        assertEquals("success", two.call("execute_tool", null, extras).getString("status"));
        extras.remove("args");
        extras.putSerializable("tool_arguments", new LinkedHashMap<>(Map.of("a", "1", "b", "2")));
        assertTrue(two.call("execute_tool", null, extras).getBoolean("success"));
        SampleTools alone = SampleTools.start(SampleTools.MCP_WRITE);
        assertEquals("write", alone.call("get_tool_info", null, null).getString("tool_name"));
        isError("this Android version does not tell which of [com.example.sample.mcp.add, com.example.sample.mcp.write,"
                        + " com.example.sample.mcp.all] was called; the app must declare one provider for each",
                provider.call("get_tool_info", null, null));
    }

    /** Errors before the protocol is known use the protocol that the call implies. */
    @Test
    public void failedDeclarationIsReportedInCallersProtocol() {
        Bundle extras = new Bundle();
        extras.putString("tool_name", "add");
        extras.putSerializable("tool_arguments", new LinkedHashMap<>(Map.of("a", "1", "b", "2")));
        provider.declarationFails = new IllegalArgumentException("tool t: no handler");
        isError("tool t: no handler", app.call(provider, SampleTools.MCP, "execute_tool", extras));
        isError("tool t: no handler", app.call(provider, SampleTools.MCP, "get_tool_info", null));
        isError("tool t: no handler", provider.call("execute_tool", null, extras));
        provider.declarationFails = null;
        isError("this Android version does not tell which of [com.example.sample.mcp.add, com.example.sample.mcp.write,"
                        + " com.example.sample.mcp.all] was called; the app must declare one provider for each",
                provider.call("execute_tool", null, extras));
        extras.remove("tool_arguments");
        extras.putString("args", "{\"a\":1,\"b\":2}");
        SampleTools two = SampleTools.start(SampleTools.CETP, SampleTools.MCP);
        two.declarationFails = new IllegalArgumentException("tool t: no handler");
        assertEquals("INTERNAL_ERROR", two.call("execute_tool", null, extras).getString("error_code"));
    }
}
