package dev.toolway.provider;

import android.os.Build;
import android.os.Bundle;
import java.util.HashMap;
import java.util.Map;

/**
 * Reads the extras of callers. A bundle is unpacked at the first access. It may name unknown classes or have a wrong
 * length; such problems become an error for the caller and never end the process.
 */
final class Extras {
    private Extras() {}

    /** Returns null if it is missing. */
    static String string(Bundle extras, String key) throws ToolException {
        Object value = read(extras, key, () -> {
            String text = extras.getString(key);
            return text != null || !extras.containsKey(key) ? text : raw(extras, key);
        });
        if (value != null && !(value instanceof String)) {
            throw ToolException.invalidArgs(key + " must be a string");
        }
        return (String) value;
    }

    /** Returns null if it is missing. */
    static Map<?, ?> map(Bundle extras, String key) throws ToolException {
        Object value = read(extras, key, () -> {
            if (!extras.containsKey(key)) {
                return null;
            }
            // From API 34, the expected class can be given. A map always arrives as this one.
            Object map = Build.VERSION.SDK_INT >= Build.VERSION_CODES.UPSIDE_DOWN_CAKE
                    ? extras.getSerializable(key, HashMap.class)
                    : raw(extras, key);
            return map == null ? "" : map;
        });
        if (value != null && !(value instanceof Map)) {
            throw ToolException.invalidArgs(key + " must be a map of strings");
        }
        return (Map<?, ?>) value;
    }

    /** Returns true if it is present and can be unpacked. */
    static boolean has(Bundle extras, String key) {
        try {
            return extras != null && Boolean.TRUE.equals(read(extras, key, () -> extras.containsKey(key)));
        } catch (ToolException error) {
            return false;
        }
    }

    @SuppressWarnings("deprecation")
    private static Object raw(Bundle extras, String key) {
        return extras.get(key);
    }

    private interface Reading {
        Object read();
    }

    private static Object read(Bundle extras, String key, Reading reading) throws ToolException {
        if (extras == null) {
            throw ToolException.invalidArgs("extras are missing; " + key + " is required");
        }
        try {
            return reading.read();
        } catch (RuntimeException | LinkageError | StackOverflowError | OutOfMemoryError error) {
            throw ToolException.invalidArgs(
                    "the extras can't be read: " + JsonValues.cut(String.valueOf(error.getMessage()), 200));
        }
    }
}
