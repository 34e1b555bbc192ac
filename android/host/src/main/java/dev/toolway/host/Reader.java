package dev.toolway.host;

import android.os.Bundle;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;

/** Decodes data of the native library; see {@link Writer}. Invalid data is a bug. */
final class Reader {
    private final ByteBuffer bytes;

    Reader(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    boolean flag() {
        return bytes.get() != 0;
    }

    /** Reads the kind byte of the next value. */
    int kind() {
        return bytes.get();
    }

    int integer() {
        return bytes.getInt();
    }

    long longInteger() {
        return bytes.getLong();
    }

    String text() {
        int length = bytes.getInt();
        String text = new String(bytes.array(), bytes.position(), length, StandardCharsets.UTF_8);
        bytes.position(bytes.position() + length);
        return text;
    }

    String textOrNone() {
        return flag() ? text() : null;
    }

    List<String> texts() {
        int length = bytes.getInt();
        List<String> texts = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            texts.add(text());
        }
        return texts;
    }

    Bundle bundle() {
        int length = bytes.getInt();
        Bundle bundle = new Bundle(length);
        for (int i = 0; i < length; i++) {
            value(bundle, text());
        }
        return bundle;
    }

    private void value(Bundle bundle, String key) {
        byte kind = bytes.get();
        switch (kind) {
            case Writer.NULL:
                bundle.putString(key, null);
                break;
            case Writer.BOOLEAN:
                bundle.putBoolean(key, flag());
                break;
            case Writer.INT:
                bundle.putInt(key, bytes.getInt());
                break;
            case Writer.LONG:
                bundle.putLong(key, bytes.getLong());
                break;
            case Writer.FLOAT:
                bundle.putFloat(key, bytes.getFloat());
                break;
            case Writer.DOUBLE:
                bundle.putDouble(key, bytes.getDouble());
                break;
            case Writer.TEXT:
                bundle.putString(key, text());
                break;
            case Writer.TEXTS:
                bundle.putStringArray(key, texts().toArray(new String[0]));
                break;
            case Writer.MAP:
                bundle.putSerializable(key, map());
                break;
            case Writer.BUNDLE:
                bundle.putBundle(key, bundle());
                break;
            default:
                throw new IllegalArgumentException("a value of the kind " + kind);
        }
    }

    /** Reads a map as the class of the protocol: providers call {@code getSerializable} and cast the result. */
    private LinkedHashMap<String, String> map() {
        int length = bytes.getInt();
        LinkedHashMap<String, String> map = new LinkedHashMap<>();
        for (int i = 0; i < length; i++) {
            map.put(text(), text());
        }
        return map;
    }
}
