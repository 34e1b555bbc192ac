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
     * Returns the provider's context, for example for databases.
     *
     * @return the context
     */
    public Context context() {
        return context;
    }

    /**
     * Returns the caller.
     *
     * @return the caller
     */
    public Caller caller() {
        return caller;
    }

    /**
     * Returns the arguments. They match the tool's schema, with defaults filled in. An integer may have been sent as
     * {@code 5.0}: read it with {@code getInt} or {@code getLong}.
     *
     * @return the arguments; you may change them
     */
    public JSONObject arguments() {
        return arguments;
    }

    /**
     * Returns a text argument.
     *
     * @param name name of the argument
     * @return the text, or null if the argument is missing, null or not a text
     */
    public String string(String name) {
        Object value = arguments.opt(name);
        return value instanceof String ? (String) value : null;
    }

    /**
     * Returns the caller's id of this call, for logs. A retry has the same id.
     *
     * @return the id, or null if the caller sent none
     */
    public String requestId() {
        return requestId;
    }
}
