package dev.toolway.host;

import android.os.Bundle;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Encodes data for the native library: one byte array instead of a JNI call for each value. The module {@code codec}
 * of {@code crates/android-jni} is the other side and describes the format.
 */
final class Writer {
    static final byte NULL = 0;
    static final byte BOOLEAN = 1;
    static final byte INT = 2;
    static final byte LONG = 3;
    static final byte FLOAT = 4;
    static final byte DOUBLE = 5;
    static final byte TEXT = 6;
    static final byte TEXTS = 7;
    static final byte MAP = 8;
    static final byte BUNDLE = 9;
    static final byte OTHER = 10;

    /** Maximum nesting of bundles; deeper ones are written as their class. */
    static final int MOST_NESTED = 16;

    /** Far more than Android passes between processes. */
    private static final int MOST_BYTES = 32 << 20;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);

    byte[] toBytes() {
        return bytes.toByteArray();
    }

    Writer raw(int value) {
        bytes.write(value);
        return this;
    }

    Writer flag(boolean value) {
        return raw(value ? 1 : 0);
    }

    Writer integer(int value) {
        bytes.write(value >>> 24);
        bytes.write(value >>> 16);
        bytes.write(value >>> 8);
        bytes.write(value);
        return this;
    }

    private Writer longInteger(long value) {
        return integer((int) (value >>> 32)).integer((int) value);
    }

    /** Writes a text. An unpaired surrogate becomes a question mark, as usual in Java's UTF-8. */
    Writer text(String value) {
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        if (bytes.size() + utf8.length > MOST_BYTES) {
            throw new TooMuchException("more than " + (MOST_BYTES >> 20) + " MB");
        }
        integer(utf8.length);
        bytes.write(utf8, 0, utf8.length);
        return this;
    }

    Writer textOrNone(String value) {
        flag(value != null);
        return value == null ? this : text(value);
    }

    Writer bundle(Bundle bundle) {
        return bundle(bundle, MOST_NESTED);
    }

    private Writer bundle(Bundle bundle, int more) {
        List<String> keys = new ArrayList<>(bundle.size());
        for (String key : bundle.keySet()) {
            if (key != null) {
                keys.add(key);
            }
        }
        integer(keys.size());
        for (String key : keys) {
            text(key);
            valueOf(bundle, key, more - 1);
        }
        return this;
    }

    /** Writes the value of a key. A value of an unknown class can't be read; then only the class of the error is known. */
    @SuppressWarnings("deprecation") // The typed getters give nothing where the type is another one.
    private void valueOf(Bundle bundle, String key, int more) {
        Object value;
        try {
            value = bundle.get(key);
        } catch (RuntimeException e) {
            other(e.getClass());
            return;
        }
        value(value, more);
    }

    /** Writes a value of a manifest's meta-data or of a bundle. */
    Writer value(Object value) {
        return value(value, 0);
    }

    private Writer value(Object value, int more) {
        if (value == null) {
            return raw(NULL);
        }
        if (value instanceof CharSequence) {
            return raw(TEXT).text(value.toString());
        }
        if (value instanceof Boolean) {
            return raw(BOOLEAN).flag((Boolean) value);
        }
        if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return raw(INT).integer(((Number) value).intValue());
        }
        if (value instanceof Long) {
            return raw(LONG).longInteger((Long) value);
        }
        if (value instanceof Float) {
            return raw(FLOAT).integer(Float.floatToIntBits((Float) value));
        }
        if (value instanceof Double) {
            return raw(DOUBLE).longInteger(Double.doubleToLongBits((Double) value));
        }
        if (value instanceof Bundle && more > 0) {
            return raw(BUNDLE).bundle((Bundle) value, more);
        }
        List<String> texts = texts(value);
        if (texts != null) {
            raw(TEXTS).integer(texts.size());
            for (String text : texts) {
                text(text);
            }
            return this;
        }
        if (value instanceof Map && isOfTexts((Map<?, ?>) value)) {
            Map<?, ?> map = (Map<?, ?>) value;
            raw(MAP).integer(map.size());
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                text((String) entry.getKey()).text((String) entry.getValue());
            }
            return this;
        }
        return other(value.getClass());
    }

    /** Writes a value that is only known by this class: its own, or that of the exception. */
    Writer other(Class<?> known) {
        return raw(OTHER).text(known.getName());
    }

    /** Returns the strings of an array or list, without other elements; null if it is neither. */
    private static List<String> texts(Object value) {
        List<String> texts = new ArrayList<>();
        if (value instanceof CharSequence[]) {
            for (CharSequence each : (CharSequence[]) value) {
                if (each != null) {
                    texts.add(each.toString());
                }
            }
            return texts;
        }
        if (!(value instanceof Collection)) {
            return null;
        }
        for (Object each : (Collection<?>) value) {
            if (each instanceof CharSequence) {
                texts.add(each.toString());
            } else if (each != null) {
                return null;
            }
        }
        return texts;
    }

    private static boolean isOfTexts(Map<?, ?> map) {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (!(entry.getKey() instanceof String && entry.getValue() instanceof String)) {
                return false;
            }
        }
        return true;
    }

    /** An answer is larger than any from another process can be. */
    static final class TooMuchException extends RuntimeException {
        private static final long serialVersionUID = 1;

        TooMuchException(String message) {
            super(message);
        }
    }
}
