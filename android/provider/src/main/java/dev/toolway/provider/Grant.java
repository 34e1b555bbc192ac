package dev.toolway.provider;

import org.json.JSONException;
import org.json.JSONObject;

/** What the user has said about one app, or that the app has asked. */
public final class Grant {
    /** What the user has said. */
    public enum State {
        /** Nothing yet, or what was said has run out: the app has asked. */
        ASKED,
        /** The app may. */
        ALLOWED,
        /** The app may not. */
        DENIED
    }

    private final String packageName;
    private final String certificate;
    private final State state;
    private final long until;
    private final long since;

    Grant(String packageName, String certificate, State state, long until, long since) {
        this.packageName = packageName;
        this.certificate = certificate;
        this.state = state;
        this.until = until;
        this.since = since;
    }

    /**
     * The app's package.
     *
     * @return its name
     */
    public String packageName() {
        return packageName;
    }

    /**
     * The certificate of the app that asked, by which it is told from another of the same name.
     *
     * @return as {@link Caller#certificates()} has it; empty where the system did not say
     */
    public String certificate() {
        return certificate;
    }

    /**
     * What the user has said.
     *
     * @return the state
     */
    public State state() {
        return state;
    }

    /**
     * When an allowance ends.
     *
     * @return milliseconds since 1970, or {@link Grants#NO_END}
     */
    public long until() {
        return until;
    }

    /**
     * Since when it is so.
     *
     * @return milliseconds since 1970
     */
    public long since() {
        return since;
    }

    /** What it is at this time. */
    Grant at(long now) {
        return state == State.ALLOWED && now >= until
                ? new Grant(packageName, certificate, State.ASKED, Grants.NO_END, until)
                : this;
    }

    String toJson() {
        try {
            return new JSONObject()
                    .put("certificate", certificate)
                    .put("state", state.name())
                    .put("until", until)
                    .put("since", since)
                    .toString();
        } catch (JSONException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Null where the text is none of ours. */
    static Grant fromJson(String packageName, String text) {
        try {
            JSONObject json = new JSONObject(text);
            return new Grant(
                    packageName,
                    json.getString("certificate"),
                    State.valueOf(json.getString("state")),
                    json.getLong("until"),
                    json.getLong("since"));
        } catch (JSONException | IllegalArgumentException error) {
            return null;
        }
    }
}
