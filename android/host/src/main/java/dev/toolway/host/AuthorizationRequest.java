package dev.toolway.host;

/**
 * A request of an app for the user's authorization. Everything except the package is the app's own text: show it, but
 * do not trust it or act on it.
 */
public final class AuthorizationRequest {
    private static final int DECLINED = 0;
    private static final int AGREED = 1;
    private static final int RETURNED = 2;

    private final long question;
    private final String packageName;
    private final String label;
    private final String authority;
    private final String tool;
    private final String message;
    private final String hint;
    private final String action;

    AuthorizationRequest(long question, Reader from) {
        this.question = question;
        packageName = from.text();
        label = from.text();
        authority = from.text();
        tool = from.textOrNone();
        message = from.text();
        hint = from.textOrNone();
        action = from.textOrNone();
    }

    /** Returns the number of the question, which is the same in its withdrawal; 0 for an offer. */
    public long question() {
        return question;
    }

    /** Returns the package of the app, the only one that is opened. */
    public String packageName() {
        return packageName;
    }

    /** Returns the display name of the app. */
    public String label() {
        return label;
    }

    /** Returns the authority for {@link ToolwayBridge#authorize}. */
    public String authority() {
        return authority;
    }

    /** Returns the tool that was called; null if the app was only asked for its tools. */
    public String tool() {
        return tool;
    }

    /** Returns the app's description of the missing authorization. */
    public String message() {
        return message;
    }

    /** Returns the app's hint for the user; null if there is none. */
    public String hint() {
        return hint;
    }

    /**
     * Returns the action of the app's authorization screen. If it is null, or if the app has no such screen, the app's
     * start screen opens.
     */
    public String action() {
        return action;
    }

    /**
     * Reports that the user agrees to open the app.
     *
     * @return true if the question was pending
     */
    public boolean agree() {
        return Natives.answer(question, AGREED);
    }

    /**
     * Reports that the user declined.
     *
     * @return true if the question was pending
     */
    public boolean decline() {
        return Natives.answer(question, DECLINED);
    }

    /**
     * Reports that the user has returned from the app.
     *
     * @return true if the question was pending
     */
    public boolean returned() {
        return Natives.answer(question, RETURNED);
    }
}
