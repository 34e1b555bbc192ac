package dev.toolway.foreign;

import android.os.Bundle;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import java.util.concurrent.atomic.AtomicInteger;

/** Lists that are expensive to read, one class each. */
public final class Bombs {
    /** Number of levels; each part refers twice to the next, so there are 2 to the power of this paths. */
    public static final int DOUBLINGS = 40;

    private Bombs() {
    }

    /** Answers calls: a tool returns its own name. */
    private abstract static class Listing extends Foreign {
        abstract String tools();

        @Override
        public final Bundle call(String method, String arg, Bundle extras) {
            switch (method) {
                case "list_tools":
                    return success("{\"tools\":[" + tools() + "]}");
                case "execute_tool":
                    return success("\"" + extras.getString("tool_name") + "\"");
                default:
                    return error("TOOL_NOT_FOUND", "Unknown method: " + method);
            }
        }

        static String tool(String name, String description, String parameters) {
            return "{\"name\":\"" + name + "\",\"description\":\"" + description + "\",\"parameters\":" + parameters
                + "}";
        }

        static String of(String name, String member) {
            return tool(name, "Costly", "{\"type\":\"object\",\"properties\":{\"it\":" + member + "}}");
        }
    }

    /** Schemas that are cyclic, branch exponentially, are huge or match slowly, and a valid one. */
    public static class Schemas extends Listing {
        @Override
        String tools() {
            return String.join(",",
                tool("ring", "Goes round", "{\"type\":\"object\",\"properties\":{\"it\":{\"$ref\":\"#/$defs/a\"}},"
                    + "\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}"),
                tool("doubled", "Doubles", doubled()),
                of("nested", "{\"allOf\":[".repeat(24) + "{}" + "]}".repeat(24)),
                of("choices", choices()),
                of("slow", "{\"type\":\"string\",\"pattern\":\"^(([a-z])+.)+[A-Z]([a-z])+$\"}"),
                of("repeated", "{\"type\":\"string\",\"pattern\":\"(((x{1000}){1000}){1000}){1000}\"}"),
                of("behind", "{\"type\":\"string\",\"pattern\":\"^(?=(a+)+$)(a+)+\\\\1b\"}"),
                tool("good", "As it should be", "{\"type\":\"object\"}"));
        }

        private static String doubled() {
            StringJoiner parts = new StringJoiner(",", "{", "}");
            for (int i = 0; i < DOUBLINGS; i++) {
                String next = "{\"$ref\":\"#/$defs/p" + (i + 1) + "\"}";
                parts.add("\"p" + i + "\":{\"allOf\":[" + next + "," + next + "]}");
            }
            parts.add("\"p" + DOUBLINGS + "\":{\"type\":\"string\"}");
            return "{\"type\":\"object\",\"properties\":{\"it\":{\"$ref\":\"#/$defs/p0\"}},\"$defs\":" + parts + "}";
        }

        /** A schema of slightly more than 64 KB. */
        private static String choices() {
            List<String> values = new ArrayList<>();
            for (int i = 0; i < 7_000; i++) {
                values.add(String.format("\"v%06d\"", i));
            }
            return "{\"enum\":[" + String.join(",", values) + "]}";
        }
    }

    /** A very deep schema, against recursive parsers. */
    public static class Deep extends Listing {
        @Override
        String tools() {
            return of("deep", "{\"allOf\":[".repeat(20_000) + "{}" + "]}".repeat(20_000));
        }
    }

    /** A description of a million characters, more than Android passes. */
    public static class LongWords extends Listing {
        @Override
        String tools() {
            return tool("talks", "x".repeat(1_000_000), "{}");
        }
    }

    /** The longest description that Android passes. */
    public static class FewerWords extends Listing {
        @Override
        String tools() {
            return tool("talks", "x".repeat(500_000), "{}");
        }
    }

    /** Lists another tool each time. */
    public static class Changing extends Listing {
        private final AtomicInteger asked = new AtomicInteger();

        @Override
        String tools() {
            return tool("tool_" + asked.incrementAndGet(), "For now", "{}");
        }
    }
}
