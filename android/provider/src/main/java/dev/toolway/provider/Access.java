package dev.toolway.provider;

/** The answer to the question whether a caller may do what it asks for. */
public final class Access {
    private static final Access ALLOWED = new Access(null);

    private final ToolException refusal;

    private Access(ToolException refusal) {
        this.refusal = refusal;
    }

    /**
     * It may.
     *
     * @return the answer
     */
    public static Access allow() {
        return ALLOWED;
    }

    /**
     * It may not, and asking the user changes nothing about it.
     *
     * @param message why, for the caller to read
     * @return the answer
     */
    public static Access deny(String message) {
        return new Access(ToolException.permissionDenied(message));
    }

    /**
     * It may once the user has allowed it in this app.
     *
     * @param message what is missing
     * @param hint what the user should do, or null
     * @param authorizeAction the action of the activity of this app in which it is done, or null for the app's
     *     ordinary start
     * @return the answer
     */
    public static Access authRequired(String message, String hint, String authorizeAction) {
        return new Access(ToolException.authRequired(message, hint, authorizeAction));
    }

    /**
     * Whether it may.
     *
     * @return true where it may
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
