package dev.toolway.provider;

import android.content.Context;
import org.json.JSONObject;

/** One call of a tool. */
public final class ToolCall {
    private final Context context;
    private final Caller caller;
    private final JSONObject arguments;
    private final String requestId;

    ToolCall(Context context, Caller caller, JSONObject arguments, String requestId) {
        this.context = context;
        this.caller = caller;
        this.arguments = arguments;
        this.requestId = requestId;
    }

    /**
     * The provider's context, for databases and the like.
     *
     * @return the context
     */
    public Context context() {
        return context;
    }

    /**
     * Who calls, so that different callers can be answered differently.
     *
     * @return the caller
     */
    public Caller caller() {
        return caller;
    }

    /**
     * The arguments. They fit the tool's schema, and what was left out and has a {@code default} there is filled
     * in. Integers may have come as {@code 5.0}: read them with {@code getInt} or {@code getLong}.
     *
     * @return the arguments; the call's own, free to be changed
     */
    public JSONObject arguments() {
        return arguments;
    }

    /**
     * A text among the arguments.
     *
     * @param name of the argument
     * @return the text, or null where the argument is missing, null, or no text
     */
    public String string(String name) {
        Object value = arguments.opt(name);
        return value instanceof String ? (String) value : null;
    }

    /**
     * What the caller calls this call, for logs, and the same when it tries again.
     *
     * @return the id, or null where it sent none
     */
    public String requestId() {
        return requestId;
    }
}
