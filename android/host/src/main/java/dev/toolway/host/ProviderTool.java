package dev.toolway.host;

/** A tool of a provider. */
public final class ProviderTool {
    private final String name;
    private final String nameInApp;
    private final String description;

    ProviderTool(Reader from) {
        name = from.text();
        nameInApp = from.text();
        description = from.textOrNone();
    }

    /** Returns the name on this phone, with the app's prefix. */
    public String name() {
        return name;
    }

    /** Returns the name in the app. */
    public String nameInApp() {
        return nameInApp;
    }

    /**
     * Returns the first 1,000 characters of the description, which is the app's own text. Null if there is none, or if
     * the descriptions of all tools together are longer than 1 MiB.
     */
    public String description() {
        return description;
    }
}
