package dev.toolway.host;

import java.util.Collections;
import java.util.List;

/** One app provider, as it stands. */
public final class ProviderRow {
    /** What can be had of it. */
    public enum State {
        /** Its tools. */
        READY,
        /** Nothing, until the user has allowed it in the app. */
        AUTHORIZATION_REQUIRED,
        /** Nothing at the moment. */
        UNAVAILABLE,
        /** Nothing, until the app or its rights are other ones. */
        REFUSED
    }

    private final String packageName;
    private final String label;
    private final String authority;
    private final String dialect;
    private final String prefix;
    private final State state;
    private final String reason;
    private final String hint;
    private final List<String> tools;
    private final List<String> notes;

    ProviderRow(Reader from) {
        packageName = from.text();
        label = from.text();
        authority = from.text();
        dialect = from.text();
        prefix = from.textOrNone();
        state = State.values()[from.kind()];
        reason = from.textOrNone();
        hint = from.textOrNone();
        tools = Collections.unmodifiableList(from.texts());
        notes = Collections.unmodifiableList(from.texts());
    }

    /** The app. */
    public String packageName() {
        return packageName;
    }

    /** The app's name for people. */
    public String label() {
        return label;
    }

    /** Its authority. */
    public String authority() {
        return authority;
    }

    /** How it is spoken to. */
    public String dialect() {
        return dialect;
    }

    /** What stands before its tools' names; null where it has no name. */
    public String prefix() {
        return prefix;
    }

    /** What can be had of it. */
    public State state() {
        return state;
    }

    /** Why nothing can be had; null where its tools can. */
    public String reason() {
        return reason;
    }

    /** What to do about it; null where nothing is known. */
    public String hint() {
        return hint;
    }

    /** The names of its tools. */
    public List<String> tools() {
        return tools;
    }

    /** What was refused or noticed. */
    public List<String> notes() {
        return notes;
    }
}
