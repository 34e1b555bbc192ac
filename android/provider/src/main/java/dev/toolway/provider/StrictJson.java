package dev.toolway.provider;

import java.math.BigDecimal;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Parses JSON strictly (RFC 8259). Android's own parser accepts comments, unquoted words and single quotes, ignores
 * text after the first value, and overflows the stack with deep nesting. Use this parser for data of other apps.
 */
final class StrictJson {
    /** Maximum nesting depth. */
    static final int MAX_DEPTH = 64;
    /** Maximum length of a number in characters: enough for every double, and fast to parse. */
    private static final int MAX_DIGITS = 400;

    private final String text;
    private int at;
    private int depth;

    private StrictJson(String text) {
        this.text = text;
    }

    /**
     * Parses one value.
     *
     * @return a JSONObject, JSONArray, String, Boolean, Integer, Long, Double, BigDecimal, or JSONObject.NULL
     */
    static Object parse(String text) throws MalformedJson {
        StrictJson reader = new StrictJson(text);
        reader.skipSpace();
        Object value = reader.value();
        reader.skipSpace();
        if (reader.at < text.length()) {
            throw reader.wrong("text after the end of the value");
        }
        return value;
    }

    private Object value() throws MalformedJson {
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", JSONObject.NULL);
            default:
                return number();
        }
    }

    private JSONObject object() throws MalformedJson {
        enter();
        JSONObject object = new JSONObject();
        if (!takes('}')) {
            do {
                skipSpace();
                if (peek() != '"') {
                    throw wrong("expected a name in double quotes");
                }
                int start = at;
                String name = string();
                if (object.has(name)) {
                    at = start;
                    throw wrong("duplicate name");
                }
                skipSpace();
                need(':');
                skipSpace();
                try {
                    object.put(name, value());
                } catch (JSONException error) {
                    throw wrong("invalid value");
                }
                skipSpace();
            } while (takes(','));
            need('}');
        }
        depth--;
        return object;
    }

    private JSONArray array() throws MalformedJson {
        enter();
        JSONArray array = new JSONArray();
        if (!takes(']')) {
            do {
                skipSpace();
                array.put(value());
                skipSpace();
            } while (takes(','));
            need(']');
        }
        depth--;
        return array;
    }

    private void enter() throws MalformedJson {
        if (++depth > MAX_DEPTH) {
            throw wrong("nested more than " + MAX_DEPTH + " levels deep");
        }
        at++;
        skipSpace();
    }

    private String string() throws MalformedJson {
        at++;
        StringBuilder read = new StringBuilder();
        while (true) {
            char c = peek();
            at++;
            if (c == '"') {
                return read.toString();
            } else if (c == '\\') {
                read.append(escape());
            } else if (c < ' ') {
                at--;
                throw wrong("unescaped control character");
            } else {
                read.append(c);
            }
        }
    }

    private char escape() throws MalformedJson {
        char c = peek();
        at++;
        switch (c) {
            case '"':
            case '\\':
            case '/':
                return c;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                return unicode();
            default:
                at--;
                throw wrong("invalid escape");
        }
    }

    private char unicode() throws MalformedJson {
        int code = 0;
        for (int i = 0; i < 4; i++) {
            char c = peek();
            int digit = c < 128 ? Character.digit(c, 16) : -1;
            if (digit < 0) {
                throw wrong("expected four hexadecimal digits");
            }
            code = code * 16 + digit;
            at++;
        }
        return (char) code;
    }

    private Object number() throws MalformedJson {
        int start = at;
        takes('-');
        if (!takes('0')) {
            digits();
        }
        boolean whole = true;
        if (takes('.')) {
            whole = false;
            digits();
        }
        if (takes('e') || takes('E')) {
            whole = false;
            if (!takes('+')) {
                takes('-');
            }
            digits();
        }
        if (at - start > MAX_DIGITS) {
            throw wrong("the number is too long");
        }
        return numberOf(text.substring(start, at), whole);
    }

    private Object numberOf(String written, boolean whole) throws MalformedJson {
        if (whole) {
            try {
                long value = Long.parseLong(written);
                return value == (int) value ? (Object) (int) value : (Object) value;
            } catch (NumberFormatException tooLarge) {
                return new BigDecimal(written);
            }
        }
        double value = Double.parseDouble(written);
        if (Double.isInfinite(value)) {
            throw wrong("the number is too large");
        }
        return value;
    }

    private void digits() throws MalformedJson {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw wrong(at < text.length() ? "invalid JSON value" : "unexpected end of the text");
        }
    }

    private Object word(String word, Object value) throws MalformedJson {
        if (!text.startsWith(word, at)) {
            throw wrong("invalid JSON value");
        }
        at += word.length();
        return value;
    }

    private void skipSpace() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private boolean takes(char c) {
        boolean there = at < text.length() && text.charAt(at) == c;
        at += there ? 1 : 0;
        return there;
    }

    private void need(char c) throws MalformedJson {
        if (peek() != c) {
            throw wrong("expected '" + c + "'");
        }
        at++;
    }

    private char peek() throws MalformedJson {
        if (at >= text.length()) {
            throw wrong("unexpected end of the text");
        }
        return text.charAt(at);
    }

    private MalformedJson wrong(String what) {
        return new MalformedJson(what, at);
    }
}
