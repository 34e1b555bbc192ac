package dev.toolway.host;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import java.util.List;
import org.junit.Test;

/** Rows as bytes. The Rust side has the same bytes in {@code crates/android-jni/src/app_channel/event/tests.rs}. */
public class ProviderRowTest {
    private static Writer start() {
        return new Writer().text("p").text("L").text("a").text("cetp").textOrNone("l").raw(0).textOrNone(null)
            .textOrNone(null);
    }

    @Test
    public void a_row_has_info_version_permission_and_tool_descriptions() {
        Writer bytes = start().integer(1).textOrNone("q").flag(true).textOrNone("N").textOrNone(null).integer(1)
            .text("s").textOrNone("S").integer(1).text("l__t").text("t").textOrNone("D").integer(0);
        ProviderRow row = new ProviderRow(new Reader(bytes.toBytes()));
        assertEquals(1, row.version());
        assertEquals("q", row.permission());
        assertEquals("N", row.description().name());
        assertNull(row.description().description());
        assertEquals("s", row.description().scopes().get(0).name());
        assertEquals("S", row.description().scopes().get(0).description());
        assertEquals(List.of("l__t"), row.tools());
        ProviderTool tool = row.toolDetails().get(0);
        assertEquals("l__t t D", tool.name() + " " + tool.nameInApp() + " " + tool.description());
        assertEquals(List.of(), row.notes());
    }

    @Test
    public void missing_values_are_null() {
        Writer bytes = start().integer(-1).textOrNone(null).flag(false).integer(1).text("l__t").text("t")
            .textOrNone(null).integer(0);
        ProviderRow row = new ProviderRow(new Reader(bytes.toBytes()));
        assertEquals(-1, row.version());
        assertNull(row.permission());
        assertNull(row.description());
        assertNull(row.toolDetails().get(0).description());
    }
}
