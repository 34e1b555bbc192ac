package dev.toolway.host;

/** State of the connection to the gateway. */
public final class BridgeStatus {
    /** The states. */
    public enum State {
        /** Connecting to the gateway. */
        CONNECTING,
        /** The gateway has accepted the connection. */
        CONNECTED,
        /** The connection was lost or failed; the next attempt follows automatically. */
        RECONNECTING,
        /** The connection has ended: by request, or because no further attempt would succeed. */
        STOPPED
    }

    private final State state;
    private final String source;
    private final int tools;
    private final String why;
    private final String hint;
    private final long delayMillis;

    BridgeStatus(Reader from) {
        state = State.values()[from.kind()];
        source = state == State.CONNECTED ? from.textOrNone() : null;
        tools = state == State.CONNECTED ? from.integer() : -1;
        String reason = null;
        if (state == State.RECONNECTING) {
            reason = from.text();
        } else if (state == State.STOPPED) {
            reason = from.textOrNone();
        }
        why = reason;
        hint = state == State.STOPPED ? from.textOrNone() : null;
        delayMillis = state == State.RECONNECTING ? from.longInteger() : 0;
    }

    /** Returns the state. */
    public State state() {
        return state;
    }

    /** Returns the gateway's name for this phone: its tools are {@code source__tool}. Null if unknown. */
    public String source() {
        return source;
    }

    /** Returns the number of registered tools; -1 if the gateway has not reported it yet. */
    public int tools() {
        return tools;
    }

    /** Returns the reason; null if it was stopped by request. */
    public String why() {
        return why;
    }

    /** Returns the next step for the user; null if there is none. */
    public String hint() {
        return hint;
    }

    /** Returns the time until the next attempt. */
    public long delayMillis() {
        return delayMillis;
    }
}
