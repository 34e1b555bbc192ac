package dev.toolway.host;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** An app provider and its state. */
public final class ProviderRow {
    /** State of a provider. */
    public enum State {
        /** Its tools can be called. */
        READY,
        /** The user must authorize access in the app first. */
        AUTHORIZATION_REQUIRED,
        /** Temporarily unavailable. */
        UNAVAILABLE,
        /** Refused until the app or its permissions change. */
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
    private final int version;
    private final String permission;
    private final ProviderDescription description;
    private final List<ProviderTool> toolDetails;
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
        version = from.integer();
        permission = from.textOrNone();
        description = from.flag() ? new ProviderDescription(from) : null;
        int length = from.integer();
        List<ProviderTool> listed = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            listed.add(new ProviderTool(from));
        }
        toolDetails = Collections.unmodifiableList(listed);
        notes = Collections.unmodifiableList(from.texts());
    }

    /** Returns the package of the app. */
    public String packageName() {
        return packageName;
    }

    /** Returns the display name of the app. */
    public String label() {
        return label;
    }

    /** Returns the authority. */
    public String authority() {
        return authority;
    }

    /** Returns the name of the protocol dialect. */
    public String dialect() {
        return dialect;
    }

    /** Returns the prefix of its tools' names; null if it has no name. */
    public String prefix() {
        return prefix;
    }

    /** Returns the state. */
    public State state() {
        return state;
    }

    /** Returns the reason why its tools are unavailable; null if they are available. */
    public String reason() {
        return reason;
    }

    /** Returns the next step for the user; null if there is none. */
    public String hint() {
        return hint;
    }

    /** Returns the declared version of CETP; -1 for the other dialects, and if it is invalid. */
    public int version() {
        return version;
    }

    /** Returns the permission for calling it; null if it requires none. */
    public String permission() {
        return permission;
    }

    /** Returns its description of itself; null if it has none. */
    public ProviderDescription description() {
        return description;
    }

    /** Returns the names of its tools on this phone. */
    public List<String> tools() {
        List<String> names = new ArrayList<>(toolDetails.size());
        for (ProviderTool tool : toolDetails) {
            names.add(tool.name());
        }
        return names;
    }

    /** Returns its tools. */
    public List<ProviderTool> toolDetails() {
        return toolDetails;
    }

    /** Returns notes about problems. */
    public List<String> notes() {
        return notes;
    }
}
