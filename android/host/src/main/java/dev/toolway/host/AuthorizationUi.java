package dev.toolway.host;

/**
 * Shows the bridge's questions to the phone's user. Called on a thread of the bridge's; whatever takes time belongs on
 * another.
 */
public interface AuthorizationUi {
    /**
     * Ask the user whether this app may be opened to allow something, and answer by {@link AuthorizationRequest#agree}
     * or {@link AuthorizationRequest#decline}. The app is not opened before that.
     */
    void ask(AuthorizationRequest request);

    /** The app's screen is open. Once the user is back, say so by {@link AuthorizationRequest#returned}. */
    void opened(AuthorizationRequest request);

    /** Nobody waits for the answer to this question any more: take it off the screen. */
    void withdrawn(long question);

    /**
     * An app shows no tools before it is allowed. Nobody waits; where the user takes it up,
     * {@link ToolwayBridge#authorize} goes on from there.
     */
    void offer(AuthorizationRequest request);
}
