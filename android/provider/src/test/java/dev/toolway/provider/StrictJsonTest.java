package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.math.BigDecimal;
import java.util.Collections;
import org.json.JSONArray;
import org.json.JSONObject;
import org.junit.Test;

public class StrictJsonTest {
    @Test
    public void everyTypeOfValueIsParsed() throws Exception {
        JSONObject read = (JSONObject) StrictJson.parse(
                " {\"text\" : \"a\\u00e4\\n\\ud83d\\ude00\\/\", \"list\":[1, -2.5e1,true,false,null,{}], \"long\": 3000000000} ");
        assertEquals("aä\n😀/", read.getString("text"));
        JSONArray list = read.getJSONArray("list");
        assertEquals(1, list.get(0));
        assertEquals(-25.0, list.get(1));
        assertEquals(true, list.get(2));
        assertEquals(false, list.get(3));
        assertSame(JSONObject.NULL, list.get(4));
        assertEquals(0, list.getJSONObject(5).length());
        assertEquals(3_000_000_000L, read.get("long"));
        assertEquals(new BigDecimal("18446744073709551616"), StrictJson.parse("18446744073709551616"));
    }

    @Test
    public void resultThatIsNotJsonIsRefused() {
        String[] texts = {
            "", " ", "{", "{\"a\":1", "{\"a\"}", "{\"a\":}", "{a:1}", "{'a':1}", "{\"a\":1,}", "{,}", "[1,]", "[1 2]",
            "[", "]", "tru", "nul", "NaN", "Infinity", "-", "01", "1.", ".5", "+1", "1e", "0x10", "1 2", "{} {}",
            "\"a", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\t\"", "/* */1", "// \n1", "#\n1", "{\"a\"=1}", "undefined",
            "{\"a\":1;\"b\":2}", "\ufeff1", "1e999", "-1e999", "\u00a01"
        };
        for (String text : texts) {
            assertThrows(text, MalformedJson.class, () -> StrictJson.parse(text));
        }
    }

    @Test
    public void duplicateNameIsRefused() {
        MalformedJson error = assertThrows(MalformedJson.class, () -> StrictJson.parse("{\"a\":1, \"a\":2}"));
        assertEquals("duplicate name at character 8", error.getMessage());
    }

    /** Android's own parser overflows the stack with this, which ends the process. */
    @Test
    public void nestingDepthIsLimited() throws Exception {
        String open = String.join("", Collections.nCopies(100_000, "["));
        assertThrows(MalformedJson.class, () -> StrictJson.parse(open));
        int most = StrictJson.MAX_DEPTH;
        StrictJson.parse(nested(most));
        assertThrows(MalformedJson.class, () -> StrictJson.parse(nested(most + 1)));
    }

    private static String nested(int depth) {
        String open = String.join("", Collections.nCopies(depth, "["));
        return open + String.join("", Collections.nCopies(depth, "]"));
    }

    /** Parsing a number of a million digits takes a minute. */
    @Test
    public void numberLengthIsLimited() {
        String digits = String.join("", Collections.nCopies(1_000_000, "9"));
        MalformedJson error = assertThrows(MalformedJson.class, () -> StrictJson.parse(digits));
        assertTrue(error.getMessage(), error.getMessage().startsWith("the number is too long"));
    }
}
