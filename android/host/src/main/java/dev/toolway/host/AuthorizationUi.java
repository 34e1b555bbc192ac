package dev.toolway.host;

/**
 * Shows the bridge's questions to the phone's user. The methods are called on a thread of the bridge; do slow work on
 * another thread.
 */
public interface AuthorizationUi {
    /**
     * Asks the user whether this app may be opened for authorization. Answer with {@link AuthorizationRequest#agree}
     * or {@link AuthorizationRequest#decline}. The app is not opened before that.
     */
    void ask(AuthorizationRequest request);

    /** The app's screen is open. Call {@link AuthorizationRequest#returned} when the user returns. */
    void opened(AuthorizationRequest request);

    /** The question is no longer pending: remove it from the screen. */
    void withdrawn(long question);

    /**
     * An app requires authorization before it lists tools. Nobody waits for an answer; call {@link
     * ToolwayBridge#authorize} if the user wants to continue.
     */
    void offer(AuthorizationRequest request);
}
