package dev.toolway.host;

/** What the connection to the gateway is doing. */
public final class BridgeStatus {
    /** The states. */
    public enum State {
        /** On the way to the gateway. */
        CONNECTING,
        /** The gateway has taken the connection. */
        CONNECTED,
        /** It was lost, or did not come about; the next try follows by itself. */
        RECONNECTING,
        /** It is over: by request, or because no further try would help. */
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

    /** Which. */
    public State state() {
        return state;
    }

    /** What the gateway calls this phone: its tools are {@code source__tool}. Null where it does not say. */
    public String source() {
        return source;
    }

    /** How many tools the gateway took; -1 where it has not said so yet. */
    public int tools() {
        return tools;
    }

    /** What happened; null where it was stopped by request. */
    public String why() {
        return why;
    }

    /** What to do about it; null where there is nothing to do. */
    public String hint() {
        return hint;
    }

    /** How long until the next try. */
    public long delayMillis() {
        return delayMillis;
    }
}
