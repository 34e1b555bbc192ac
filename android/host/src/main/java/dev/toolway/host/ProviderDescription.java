package dev.toolway.host;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A provider's description of itself. Everything is the app's own text: show it, but do not trust it. */
public final class ProviderDescription {
    private final String name;
    private final String description;
    private final List<ProviderScope> scopes;

    ProviderDescription(Reader from) {
        name = from.textOrNone();
        description = from.textOrNone();
        int length = from.integer();
        List<ProviderScope> listed = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            listed.add(new ProviderScope(from));
        }
        scopes = Collections.unmodifiableList(listed);
    }

    /** Returns the name of the provider; null if it has none. */
    public String name() {
        return name;
    }

    /** Returns the description of its data; null if it has none. */
    public String description() {
        return description;
    }

    /** Returns the parts of its data that the user can authorize. */
    public List<ProviderScope> scopes() {
        return scopes;
    }
}
