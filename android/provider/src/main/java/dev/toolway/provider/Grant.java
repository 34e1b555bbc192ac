package dev.toolway.provider;

import org.json.JSONException;
import org.json.JSONObject;

/** The user's decision on one app, or the request of an app without a decision. */
public final class Grant {
    /** The decisions. */
    public enum State {
        /** The app has asked; there is no decision, or it has expired. */
        ASKED,
        /** The app is allowed. */
        ALLOWED,
        /** The app is denied. */
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
     * Returns the app's package.
     *
     * @return its name
     */
    public String packageName() {
        return packageName;
    }

    /**
     * Returns the certificate of the app that asked. It distinguishes apps with the same package.
     *
     * @return in the form of {@link Caller#certificates()}; empty if the system did not know it
     */
    public String certificate() {
        return certificate;
    }

    /**
     * Returns the decision.
     *
     * @return the state
     */
    public State state() {
        return state;
    }

    /**
     * Returns the end of a permission.
     *
     * @return milliseconds since 1970, or {@link Grants#NO_END}
     */
    public long until() {
        return until;
    }

    /**
     * Returns the time of the decision or request.
     *
     * @return milliseconds since 1970
     */
    public long since() {
        return since;
    }

    /** Returns the decision at this time. */
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

    /** Returns null if the text is not a stored grant. */
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
