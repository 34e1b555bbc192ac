package dev.toolway.provider;

import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONObject;
import org.robolectric.Robolectric;

/** A provider with a tool for each case. */
public class SampleTools extends ToolProvider {
    static final String CETP = "com.example.sample.tools";
    static final String MCP = "com.example.sample.mcp.add";
    static final String MCP_WRITE = "com.example.sample.mcp.write";
    static final String MCP_ALL = "com.example.sample.mcp.all";

    /** Decision on the next request. */
    Access access = Access.allow();

    final List<Request> asked = new ArrayList<>();
    final List<Caller> callers = new ArrayList<>();
    RateLimit limit;
    int declared;
    RuntimeException declarationFails;

    /** Starts a provider with these authorities. */
    static SampleTools start(String... authorities) {
        return Robolectric.buildContentProvider(SampleTools.class)
                .create(String.join(";", authorities))
                .get();
    }

    static SampleTools start() {
        return start(CETP, MCP, MCP_WRITE, MCP_ALL);
    }

    @Override
    protected Access authorize(Caller caller, Request request) {
        callers.add(caller);
        asked.add(request);
        return access;
    }

    @Override
    protected void declare(Declaration app) {
        declared++;
        if (declarationFails != null) {
            throw declarationFails;
        }
        Schema sum = Schema.obj()
                .required("a", Schema.integer().description("First"))
                .required("b", Schema.integer().description("Second"))
                .property("round", Schema.bool().byDefault(false));
        app.info("Sample", "Sample tools")
                .tool(new Tool("add", "Adds two numbers", sum, SampleTools::add))
                .tool(new Tool("echo", "Gives back its arguments", Schema.obj(), SampleTools::echo))
                .tool(new Tool("fail", "Fails", Schema.obj(), SampleTools::fail))
                .tool(new Tool("large", "Much text", Schema.obj().required("length", Schema.integer()),
                        SampleTools::large))
                .tool(new Tool("write", "Writes something", Schema.obj(), call -> ToolResult.text("written"))
                        .thatActs())
                .mcpTool(MCP, "add")
                .mcpTool(MCP_WRITE, "write")
                .mcpTools(MCP_ALL, "add", "echo", "write");
        if (limit != null) {
            app.limit(limit);
        }
    }

    private static ToolResult add(ToolCall call) throws Exception {
        JSONObject arguments = call.arguments();
        return ToolResult.json(new JSONObject()
                .put("sum", arguments.getInt("a") + arguments.getInt("b"))
                .put("round", arguments.getBoolean("round")));
    }

    private static ToolResult echo(ToolCall call) throws Exception {
        return ToolResult.json(new JSONObject()
                .put("arguments", call.arguments())
                .put("caller", call.caller().packageName())
                .put("certificates", new JSONArray(call.caller().certificates()))
                .put("request_id", call.requestId()));
    }

    private static ToolResult fail(ToolCall call) throws Exception {
        switch (call.arguments().optString("how")) {
            case "exception":
                throw new java.io.IOException("the disk is full");
            case "silent":
                throw new IllegalStateException();
            case "error":
                throw new StackOverflowError("too deep");
            case "long":
                throw new IllegalStateException("x".repeat(3_000_000));
            case "null":
                return null;
            case "invalid":
                throw ToolException.invalidArgs("/how: makes no sense");
            case "denied":
                throw ToolException.permissionDenied("not for you");
            case "limited":
                throw ToolException.rateLimited("try again in 5 s");
            case "internal":
                throw ToolException.internal("the server is away");
            case "auth":
                throw ToolException.authRequired("no session", "Sign in", "com.example.SIGN_IN");
            default:
                throw ToolException.authRequired("no session", null, null);
        }
    }

    private static ToolResult large(ToolCall call) throws Exception {
        return ToolResult.text("x".repeat(call.arguments().getInt("length")));
    }
}
