package dev.toolway.provider;

import java.util.ArrayList;
import java.util.List;

/** Violations of a schema, each with its JSON pointer (RFC 6901). */
final class Violations {
    /** Maximum number of listed violations; others are only counted. */
    private static final int TOLD = 20;
    private static final int POINTER_SHOWN = 200;

    private final List<String> told = new ArrayList<>();
    private int count;

    void add(String pointer, String what) {
        count++;
        if (told.size() < TOLD) {
            told.add((pointer.isEmpty() ? "value" : JsonValues.cut(pointer, POINTER_SHOWN)) + ": " + what);
        }
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** Returns all on one line. */
    @Override
    public String toString() {
        String text = String.join("; ", told);
        return count > told.size() ? text + "; and " + (count - told.size()) + " more" : text;
    }

    /** Returns the pointer of a member. */
    static String below(String pointer, String name) {
        return pointer + "/" + name.replace("~", "~0").replace("/", "~1");
    }
}
