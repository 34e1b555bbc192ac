package dev.toolway.provider;

import java.util.Objects;

/**
 * Ends a call with an error for the caller. A tool's code throws it for known errors; any other exception becomes
 * {@link ErrorCode#INTERNAL_ERROR}.
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
     * Reports that the user must first allow something in this app.
     *
     * @param message the missing authorization
     * @param hint the next step for the user, or null
     * @param authorizeAction the action of this app's activity for authorization, or null for the app's start
     *     screen
     * @return the exception to throw
     */
    public static ToolException authRequired(String message, String hint, String authorizeAction) {
        return new ToolException(ErrorCode.AUTH_REQUIRED, message, hint, authorizeAction);
    }

    /**
     * Reports that the caller may not do this.
     *
     * @param message the denied action
     * @return the exception to throw
     */
    public static ToolException permissionDenied(String message) {
        return of(ErrorCode.PERMISSION_DENIED, message);
    }

    /**
     * Reports arguments that match the schema but are invalid, for example an end before its start.
     *
     * @param message the argument and the problem
     * @return the exception to throw
     */
    public static ToolException invalidArgs(String message) {
        return of(ErrorCode.INVALID_ARGS, message);
    }

    /**
     * Reports too many requests, of the caller or of this app at its server.
     *
     * @param message the time of the next retry
     * @return the exception to throw
     */
    public static ToolException rateLimited(String message) {
        return of(ErrorCode.RATE_LIMITED, message);
    }

    /**
     * Reports a failure in this app.
     *
     * @param message the problem, for the caller
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
     * Returns the error code.
     *
     * @return the code
     */
    public ErrorCode code() {
        return code;
    }

    /**
     * Returns the next step for the user.
     *
     * @return the hint, or null
     */
    public String hint() {
        return hint;
    }

    /**
     * Returns the action of the activity for authorization.
     *
     * @return the action, or null
     */
    public String authorizeAction() {
        return authorizeAction;
    }
}
