package dev.toolway.provider;

import java.util.Objects;

/**
 * Ends a call with an error that the caller is told. A tool's code throws it where it knows what went wrong;
 * whatever else it throws becomes {@link ErrorCode#INTERNAL_ERROR}.
 */
public final class ToolException extends Exception {
    private static final long serialVersionUID = 1L;

    private final ErrorCode code;
    private final String hint;
    private final String authorizeAction;

    private ToolException(ErrorCode code, String message, String hint, String authorizeAction) {
        super(Objects.requireNonNull(message, "message"));
        this.code = code;
        this.hint = hint;
        this.authorizeAction = authorizeAction;
    }

    /**
     * The user has to allow something in this app first.
     *
     * @param message what is missing
     * @param hint what the user should do, or null
     * @param authorizeAction the action of the activity of this app in which it is done, or null for the app's
     *     ordinary start
     * @return the exception to throw
     */
    public static ToolException authRequired(String message, String hint, String authorizeAction) {
        return new ToolException(ErrorCode.AUTH_REQUIRED, message, hint, authorizeAction);
    }

    /**
     * The caller may not do this.
     *
     * @param message what it may not
     * @return the exception to throw
     */
    public static ToolException permissionDenied(String message) {
        return of(ErrorCode.PERMISSION_DENIED, message);
    }

    /**
     * The arguments fit the schema and make no sense all the same, such as an end before its beginning.
     *
     * @param message which argument, and why
     * @return the exception to throw
     */
    public static ToolException invalidArgs(String message) {
        return of(ErrorCode.INVALID_ARGS, message);
    }

    /**
     * The caller, or this app at its own server, has asked too often.
     *
     * @param message when to try again
     * @return the exception to throw
     */
    public static ToolException rateLimited(String message) {
        return of(ErrorCode.RATE_LIMITED, message);
    }

    /**
     * Something failed in this app.
     *
     * @param message what, in words that the caller may read
     * @return the exception to throw
     */
    public static ToolException internal(String message) {
        return of(ErrorCode.INTERNAL_ERROR, message);
    }

    static ToolException notFound(String message) {
        return of(ErrorCode.TOOL_NOT_FOUND, message);
    }

    private static ToolException of(ErrorCode code, String message) {
        return new ToolException(code, message, null, null);
    }

    /**
     * What kind of error it is.
     *
     * @return the code
     */
    public ErrorCode code() {
        return code;
    }

    /**
     * What the user should do.
     *
     * @return the hint, or null
     */
    public String hint() {
        return hint;
    }

    /**
     * The action of the activity in which the user allows it.
     *
     * @return the action, or null
     */
    public String authorizeAction() {
        return authorizeAction;
    }
}
