package dev.toolway.provider;

/** Decision on a caller's request. */
public final class Access {
    private static final Access ALLOWED = new Access(null);

    private final ToolException refusal;

    private Access(ToolException refusal) {
        this.refusal = refusal;
    }

    /**
     * Allows the request.
     *
     * @return the decision
     */
    public static Access allow() {
        return ALLOWED;
    }

    /**
     * Denies the request. The user can't change this.
     *
     * @param message the reason, for the caller
     * @return the decision
     */
    public static Access deny(String message) {
        return new Access(ToolException.permissionDenied(message));
    }

    /**
     * Denies the request until the user allows it in this app.
     *
     * @param message the missing authorization
     * @param hint the next step for the user, or null
     * @param authorizeAction the action of this app's activity for authorization, or null for the app's start
     *     screen
     * @return the decision
     */
    public static Access authRequired(String message, String hint, String authorizeAction) {
        return new Access(ToolException.authRequired(message, hint, authorizeAction));
    }

    /**
     * Returns true if the request is allowed.
     *
     * @return true if it is allowed
     */
    public boolean isAllowed() {
        return refusal == null;
    }

    void check() throws ToolException {
        if (refusal != null) {
            throw refusal;
        }
    }
}
