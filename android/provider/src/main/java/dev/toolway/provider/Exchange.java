package dev.toolway.provider;

import android.content.Context;
import android.os.Bundle;
import org.json.JSONObject;

/** One call to the provider, with the steps that all protocols share. */
final class Exchange {
    /**
     * Maximum size of an answer in bytes. Android limits all data in transit to a process to about 1 MB, and reports
     * an unclear error for more.
     */
    static final int MAX_ANSWER_BYTES = 1_000_000;

    private final ToolProvider provider;
    private final Context context;
    private final Declaration declaration;
    private final RateLimiter limiter;
    private final Caller caller;

    Exchange(ToolProvider provider, Declaration declaration, RateLimiter limiter, Caller caller) {
        this.provider = provider;
        this.context = provider.getContext();
        this.declaration = declaration;
        this.limiter = limiter;
        this.caller = caller;
    }

    Declaration declaration() {
        return declaration;
    }

    /** Asks the app for its decision. */
    void authorize(Request.Protocol protocol, String method, Tool tool) throws ToolException {
        Access access = provider.authorize(caller, new Request(protocol, method, tool));
        if (access == null) {
            throw ToolException.internal("the app did not decide about this caller");
        }
        access.check();
    }

    /** Counts a call that runs a tool. */
    void count() throws ToolException {
        if (limiter != null) {
            limiter.count(caller.uid());
        }
    }

    ToolResult run(Tool tool, JSONObject arguments, String requestId) throws Exception {
        tool.prepare(arguments);
        ToolResult result = tool.code().run(new ToolCall(context, caller, arguments, requestId));
        if (result == null) {
            throw ToolException.internal("the tool returned no result");
        }
        return result;
    }

    /** Returns the tool that the extras name, after the decision on the caller. */
    Tool chosen(Request.Protocol protocol, Bundle extras, Served served) throws ToolException {
        String name = null;
        ToolException unreadable = null;
        try {
            name = Extras.string(extras, Names.TOOL_NAME);
        } catch (ToolException error) {
            unreadable = error;
        }
        Tool tool = name == null ? null : declaration.find(name);
        tool = tool != null && served.serves(tool) ? tool : null;
        authorize(protocol, Names.EXECUTE_TOOL, tool);
        count();
        if (unreadable != null) {
            throw unreadable;
        } else if (name == null) {
            throw ToolException.invalidArgs("missing " + Names.TOOL_NAME);
        } else if (tool == null) {
            throw ToolException.notFound("Unknown tool: " + JsonValues.cut(name, 100));
        }
        return tool;
    }

    /** The tools of a protocol. */
    interface Served {
        boolean serves(Tool tool);
    }

    /** Rejects a text that is too long for Android. */
    static String fitting(String text) throws ToolException {
        // Android passes strings as UTF-16.
        long bytes = 2L * text.length();
        if (bytes > MAX_ANSWER_BYTES) {
            throw ToolException.internal("the answer has " + bytes + " bytes; Android passes at most about "
                    + MAX_ANSWER_BYTES + " between apps; request less data at once, or pages if the tool has them");
        }
        return text;
    }
}
