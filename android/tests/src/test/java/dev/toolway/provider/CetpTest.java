package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.os.Bundle;
import java.util.Set;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;

/** Tests CETP version 1 (CETP, sections 2.3 and 2.4). */
@RunWith(RobolectricTestRunner.class)
public class CetpTest {
    private final SampleTools provider = SampleTools.start();
    private final CallingApp app = CallingApp.install("com.example.bridge");

    private Bundle call(String method, Bundle extras) {
        return app.call(provider, SampleTools.CETP, method, extras);
    }

    private Bundle execute(String tool, String args) {
        Bundle extras = new Bundle();
        extras.putString("tool_name", tool);
        extras.putString("args", args);
        extras.putString("request_id", "r-1");
        return call("execute_tool", extras);
    }

    private static void isError(String code, String message, Bundle bundle) {
        assertEquals("error", bundle.getString("status"));
        assertEquals(code, bundle.getString("error_code"));
        assertEquals(message, bundle.getString("error_message"));
        assertNull(bundle.getString("data"));
    }

    @Test
    public void onlyReadOnlyToolsAreListed() throws Exception {
        Bundle answer = call("list_tools", null);
        assertEquals(Set.of("status", "data"), answer.keySet());
        assertEquals("success", answer.getString("status"));
        JSONArray tools = new JSONObject(answer.getString("data")).getJSONArray("tools");
        assertEquals(4, tools.length());
        JSONObject add = tools.getJSONObject(0);
        Object meant = StrictJson.parse("{\"name\":\"add\",\"description\":\"Adds two numbers\",\"parameters\":{"
                + "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\",\"description\":\"First\"},"
                + "\"b\":{\"type\":\"integer\",\"description\":\"Second\"},"
                + "\"round\":{\"type\":\"boolean\",\"default\":false}},\"required\":[\"a\",\"b\"]}}");
        assertTrue(add.toString(), JsonValues.same(meant, add));
        // Version 1 does not list tools with side effects.
        assertTrue(!answer.getString("data").contains("write"));
        isError("TOOL_NOT_FOUND", "Unknown tool: write", execute("write", "{}"));
    }

    @Test
    public void runsATool() throws Exception {
        Bundle answer = execute("add", "{\"a\":2,\"b\":3.0}");
        assertEquals("success", answer.getString("status"));
        assertEquals("{\"sum\":5,\"round\":false}", answer.getString("data"));
    }

    @Test
    public void toolReceivesCaller() throws Exception {
        JSONObject echo = new JSONObject(execute("echo", "{\"x\":[1]}").getString("data"));
        assertEquals("[1]", echo.getJSONObject("arguments").getString("x"));
        assertEquals("com.example.bridge", echo.getString("caller"));
        assertEquals("r-1", echo.getString("request_id"));
        // SHA-256 of "the maker of com.example.bridge", by sha256sum.
        assertEquals(
                "[\"919119f45aa47dbff86d45fd68b0037cde050f2bd383b98a651ca283ad59aad3\"]",
                echo.getJSONArray("certificates").toString());
    }

    @Test
    public void missingArgumentsCountAsNone() throws Exception {
        Bundle extras = new Bundle();
        extras.putString("tool_name", "echo");
        JSONObject echo = new JSONObject(call("execute_tool", extras).getString("data"));
        assertEquals("{}", echo.getString("arguments"));
        assertTrue(!echo.has("request_id"));
        assertEquals("success", execute("echo", null).getString("status"));
    }

    @Test
    public void allViolationsOfArgumentsAreReported() {
        isError(
                "INVALID_ARGS",
                "invalid arguments: /b: is missing; /a: must be integer, is string",
                execute("add", "{\"a\":\"2\"}"));
    }

    @Test
    public void argumentsMustBeAnObject() {
        isError("INVALID_ARGS", "args is not JSON: unexpected end of the text at character 6", execute("add", "{\"a\":1"));
        isError("INVALID_ARGS", "args is not JSON: unexpected end of the text at character 0", execute("echo", ""));
        isError("INVALID_ARGS", "args must be a JSON object, is array", execute("echo", "[]"));
        isError("INVALID_ARGS", "args must be a JSON object, is null", execute("echo", "null"));
        isError("INVALID_ARGS", "args must be a JSON object, is string", execute("echo", "\"{}\""));
    }

    @Test
    public void callWithoutToolNameIsRefused() {
        isError("INVALID_ARGS", "extras are missing; tool_name is required", call("execute_tool", null));
        isError("INVALID_ARGS", "missing tool_name", call("execute_tool", new Bundle()));
        isError("TOOL_NOT_FOUND", "Unknown tool: nothing", execute("nothing", "{}"));
        isError("TOOL_NOT_FOUND", "Unknown tool: Add", execute("Add", "{}"));
    }

    @Test
    public void unknownMethodsAreNotFound() {
        isError("TOOL_NOT_FOUND", "Unknown method: subscribe", call("subscribe", null));
        isError("TOOL_NOT_FOUND", "Unknown method: get_tool_info", call("get_tool_info", null));
    }

    @Test
    public void providerInfoDescribesTheApp() {
        assertEquals(
                "{\"provider_name\":\"Sample\",\"description\":\"Sample tools\"}",
                call("get_provider_info", null).getString("data"));
    }

    @Test
    public void everyExceptionBecomesAnErrorAnswer() {
        isError("INTERNAL_ERROR", "the disk is full", execute("fail", "{\"how\":\"exception\"}"));
        isError("INTERNAL_ERROR", "IllegalStateException", execute("fail", "{\"how\":\"silent\"}"));
        isError("INTERNAL_ERROR", "too deep", execute("fail", "{\"how\":\"error\"}"));
        isError("INTERNAL_ERROR", "the tool returned no result", execute("fail", "{\"how\":\"null\"}"));
        isError("INTERNAL_ERROR", "x".repeat(4_000) + "…", execute("fail", "{\"how\":\"long\"}"));
        isError("INTERNAL_ERROR", "the server is away", execute("fail", "{\"how\":\"internal\"}"));
        isError("INVALID_ARGS", "/how: makes no sense", execute("fail", "{\"how\":\"invalid\"}"));
        isError("PERMISSION_DENIED", "not for you", execute("fail", "{\"how\":\"denied\"}"));
        isError("RATE_LIMITED", "try again in 5 s", execute("fail", "{\"how\":\"limited\"}"));
    }

    @Test
    public void authorizationErrorHasHintAndIntent() {
        Bundle answer = execute("fail", "{\"how\":\"auth\"}");
        isError("AUTH_REQUIRED", "no session", answer);
        assertEquals("Sign in", answer.getString("resolution_hint"));
        assertEquals("com.example.SIGN_IN", answer.getString("authorize_intent"));
        Bundle bare = execute("fail", "{}");
        assertEquals(Set.of("status", "error_code", "error_message"), bare.keySet());
    }

    /** Android limits the data in transit to a process to 1 MB, and strings have two bytes per character. */
    @Test
    public void tooLargeAnswersAreErrors() {
        // Plus two quotes.
        assertEquals(500_000, execute("large", "{\"length\":499998}").getString("data").length());
        isError(
                "INTERNAL_ERROR",
                "the answer has 1000002 bytes; Android passes at most about 1000000 between apps; request less data at"
                        + " once, or pages if the tool has them",
                execute("large", "{\"length\":499999}"));
    }

    @Test
    public void failedDeclarationIsReportedAndRetried() {
        provider.declarationFails = new IllegalArgumentException("tool t: schema: /type must be \"object\"");
        isError("INTERNAL_ERROR", "tool t: schema: /type must be \"object\"", call("list_tools", null));
        provider.declarationFails = null;
        assertEquals("success", call("list_tools", null).getString("status"));
        assertEquals("success", call("list_tools", null).getString("status"));
        assertEquals(2, provider.declared);
    }

    @Test
    public void rateLimitIsEnforced() {
        long[] now = {1_000};
        provider.elapsed = () -> now[0];
        provider.limit = RateLimit.of(2, 60_000);
        CallingApp other = CallingApp.install("com.example.other");
        assertEquals("success", execute("echo", "{}").getString("status"));
        // Invalid calls count, too.
        assertEquals("INVALID_ARGS", execute("echo", "[]").getString("error_code"));
        isError("RATE_LIMITED", "at most 2 calls in 60 s; retry in 60 s", execute("echo", "{}"));
        assertEquals("success", call("list_tools", null).getString("status"));
        Bundle extras = new Bundle();
        extras.putString("tool_name", "echo");
        assertEquals(
                "success",
                other.call(provider, SampleTools.CETP, "execute_tool", extras).getString("status"));
        now[0] += 60_000;
        assertEquals("success", execute("echo", "{}").getString("status"));
    }

    @Test
    public void providerHasNoRows() {
        android.net.Uri uri = android.net.Uri.parse("content://" + SampleTools.CETP);
        assertNull(provider.query(uri, null, null, null, null));
        assertNull(provider.insert(uri, null));
        assertEquals(0, provider.delete(uri, null, null));
        assertEquals(0, provider.update(uri, null, null, null));
        assertNull(provider.getType(uri));
    }
}
