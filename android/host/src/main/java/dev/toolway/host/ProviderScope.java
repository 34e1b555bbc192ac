package dev.toolway.host;

/** A part of a provider's data that the user can authorize. */
public final class ProviderScope {
    private final String name;
    private final String description;

    ProviderScope(Reader from) {
        name = from.text();
        description = from.textOrNone();
    }

    /** Returns the name. */
    public String name() {
        return name;
    }

    /** Returns the description; null if there is none. */
    public String description() {
        return description;
    }
}
