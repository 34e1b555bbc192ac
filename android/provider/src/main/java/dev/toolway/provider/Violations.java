package dev.toolway.provider;

import java.util.ArrayList;
import java.util.List;

/** What is wrong with a value, each with the JSON pointer (RFC 6901) of where. */
final class Violations {
    /** More are counted, and not told one by one. */
    private static final int TOLD = 20;
    private static final int POINTER_SHOWN = 200;

    private final List<String> told = new ArrayList<>();
    private int count;

    void add(String pointer, String what) {
        count++;
        if (told.size() < TOLD) {
            told.add((pointer.isEmpty() ? "the whole" : JsonValues.cut(pointer, POINTER_SHOWN)) + ": " + what);
        }
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** All on one line. */
    @Override
    public String toString() {
        String text = String.join("; ", told);
        return count > told.size() ? text + "; and " + (count - told.size()) + " more" : text;
    }

    /** The pointer of what lies in this place under this name. */
    static String below(String pointer, String name) {
        return pointer + "/" + name.replace("~", "~0").replace("/", "~1");
    }
}
