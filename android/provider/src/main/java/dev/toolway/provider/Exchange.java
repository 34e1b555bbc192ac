package dev.toolway.provider;

import android.content.Context;
import android.os.Bundle;
import org.json.JSONObject;

/** One call to the provider, with the steps that all protocols take alike. */
final class Exchange {
    /**
     * What an answer's text may take on its way. Android gives a process about 1 MB for all that it is being sent
     * at one time; what does not fit is lost, with an error that says little.
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

    /** Asks the app whether the caller may. */
    void authorize(Request.Protocol protocol, String method, Tool tool) throws ToolException {
        Access access = provider.authorize(caller, new Request(protocol, method, tool));
        if (access == null) {
            throw ToolException.internal("the app does not say whether the caller may do this");
        }
        access.check();
    }

    /** Counts a call that is to run a tool. */
    void count() throws ToolException {
        if (limiter != null) {
            limiter.count(caller.uid());
        }
    }

    ToolResult run(Tool tool, JSONObject arguments, String requestId) throws Exception {
        tool.prepare(arguments);
        ToolResult result = tool.code().run(new ToolCall(context, caller, arguments, requestId));
        if (result == null) {
            throw ToolException.internal("the tool gave no result");
        }
        return result;
    }

    /** The tool that the extras name and that is served here; the caller is asked about first. */
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

    /** Which tools a protocol has here. */
    interface Served {
        boolean serves(Tool tool);
    }

    /** Refuses a text that would not arrive. */
    static String fitting(String text) throws ToolException {
        // Strings travel as UTF-16.
        long bytes = 2L * text.length();
        if (bytes > MAX_ANSWER_BYTES) {
            throw ToolException.internal("the answer takes " + bytes + " bytes, and Android carries about "
                    + MAX_ANSWER_BYTES + " between apps; ask for less at once, in pages where the tool has them");
        }
        return text;
    }
}
