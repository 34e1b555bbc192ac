package dev.toolway.host;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import android.os.Bundle;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;

/** Tests encoded bundles. `crates/android-jni/src/codec/tests.rs` has the same bytes. */
@RunWith(RobolectricTestRunner.class)
public class WriterTest {
    private static byte[] bytes(Object... parts) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (Object part : parts) {
            byte[] text = part instanceof String ? ((String) part).getBytes(StandardCharsets.UTF_8)
                : new byte[] {((Integer) part).byteValue()};
            bytes.write(text, 0, text.length);
        }
        return bytes.toByteArray();
    }

    private static byte[] written(String key, Bundle bundle) {
        // One value at a time, because the order of keys is undefined.
        assertEquals(1, bundle.size());
        assertTrue(bundle.containsKey(key));
        return new Writer().bundle(bundle).toBytes();
    }

    @Test
    public void the_bytes_match_the_rust_decoder() {
        Bundle data = new Bundle();
        data.putString("data", "ä");
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 4, "data", 6, 0, 0, 0, 2, 0xc3 - 256, 0xa4 - 256),
            written("data", data));
        Bundle integer = new Bundle();
        integer.putInt("int", 258);
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 3, "int", 2, 0, 0, 1, 2), written("int", integer));
        Bundle list = new Bundle();
        list.putStringArray("list", new String[] {"x", null});
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 4, "list", 7, 0, 0, 0, 1, 0, 0, 0, 1, "x"),
            written("list", list));
        Bundle map = new Bundle();
        map.putSerializable("map", new LinkedHashMap<>(Map.of("k", "v")));
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 3, "map", 8, 0, 0, 0, 1, 0, 0, 0, 1, "k", 0, 0, 0, 1, "v"),
            written("map", map));
        Bundle none = new Bundle();
        none.putString("null", null);
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 4, "null", 0), written("null", none));
        Bundle success = new Bundle();
        success.putBoolean("success", true);
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 7, "success", 1, 1), written("success", success));
    }

    @Test
    @SuppressWarnings({"unchecked", "deprecation"})
    public void what_was_written_is_read() {
        Bundle inner = new Bundle();
        inner.putFloat("float", 1.5f);
        Bundle bundle = new Bundle();
        bundle.putLong("long", Long.MIN_VALUE);
        bundle.putDouble("double", -0.1);
        bundle.putShort("short", (short) 7);
        bundle.putCharSequence("text", new StringBuilder("chars"));
        bundle.putStringArrayList("texts", new ArrayList<>(List.of("a", "b")));
        bundle.putSerializable("map", new LinkedHashMap<>(Map.of("k", "v")));
        bundle.putBundle("inner", inner);
        Bundle read = new Reader(new Writer().bundle(bundle).toBytes()).bundle();
        assertEquals(Long.MIN_VALUE, read.getLong("long"));
        assertEquals(-0.1, read.getDouble("double"), 0);
        assertEquals(7, read.getInt("short"));
        assertEquals("chars", read.getString("text"));
        assertArrayEquals(new String[] {"a", "b"}, read.getStringArray("texts"));
        assertEquals(LinkedHashMap.class, read.getSerializable("map").getClass());
        assertEquals("v", ((Map<String, String>) read.getSerializable("map")).get("k"));
        assertEquals(1.5f, read.getBundle("inner").getFloat("float"), 0);
        assertNull(read.getString("nothing"));
    }

    @Test
    public void values_of_other_classes_are_named() {
        Bundle bundle = new Bundle();
        bundle.putSerializable("date", new Date(0));
        assertArrayEquals(bytes(0, 0, 0, 1, 0, 0, 0, 4, "date", 10, 0, 0, 0, 14, "java.util.Date"),
            written("date", bundle));
        Bundle mixed = new Bundle();
        mixed.putSerializable("map", new LinkedHashMap<>(Map.of("k", 1)));
        assertEquals("java.util.LinkedHashMap", named(mixed));
        Bundle bytes = new Bundle();
        bytes.putByteArray("map", new byte[1]);
        assertEquals("[B", named(bytes));
    }

    private static String named(Bundle bundle) {
        Reader reader = new Reader(new Writer().bundle(bundle).toBytes());
        assertEquals(1, reader.integer());
        reader.text();
        assertEquals(Writer.OTHER, reader.kind());
        return reader.text();
    }

    @Test
    public void cyclic_bundles_are_cut() {
        Bundle bundle = new Bundle();
        bundle.putBundle("self", bundle);
        Reader reader = new Reader(new Writer().bundle(bundle).toBytes());
        int depth = 0;
        int kind = Writer.BUNDLE;
        while (kind == Writer.BUNDLE) {
            assertEquals(1, reader.integer());
            assertEquals("self", reader.text());
            kind = reader.kind();
            depth++;
        }
        assertEquals(Writer.OTHER, kind);
        assertEquals("as deep as Rust reads", Writer.MOST_NESTED, depth);
    }
}
