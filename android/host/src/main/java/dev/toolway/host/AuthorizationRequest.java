package dev.toolway.host;

/**
 * An app wants its user to allow something before it answers. All of it but the package is what the app says of itself:
 * text to be shown, nothing to be believed or acted on.
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

    /** A number that is the same from a question to its withdrawal; 0 for an offer. */
    public long question() {
        return question;
    }

    /** The app, the only one that is opened. */
    public String packageName() {
        return packageName;
    }

    /** The app's name for people. */
    public String label() {
        return label;
    }

    /** Its authority: what {@link ToolwayBridge#authorize} takes. */
    public String authority() {
        return authority;
    }

    /** The tool that was called; null where the app was only asked for its tools. */
    public String tool() {
        return tool;
    }

    /** What the app says is missing. */
    public String message() {
        return message;
    }

    /** What the app says the user can do; null where it says nothing. */
    public String hint() {
        return hint;
    }

    /** The action of the app's screen for it; null where the app is opened as its icon does. */
    public String action() {
        return action;
    }

    /**
     * The user agrees that the app is opened.
     *
     * @return whether anybody waited for it
     */
    public boolean agree() {
        return Natives.answer(question, AGREED);
    }

    /**
     * The user does not want to.
     *
     * @return whether anybody waited for it
     */
    public boolean decline() {
        return Natives.answer(question, DECLINED);
    }

    /**
     * The user is back from the app.
     *
     * @return whether anybody waited for it
     */
    public boolean returned() {
        return Natives.answer(question, RETURNED);
    }
}
