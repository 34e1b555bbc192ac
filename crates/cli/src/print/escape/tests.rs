use super::*;

#[test]
fn ordinary_text_stays() {
    for text in ["", "Reads the disk's usage", "schöne Grüße, 日本語, 🦀", r"C:\path"] {
        assert_eq!(line(text), text);
        assert_eq!(lines(text), text);
        assert_eq!(json(text), text);
    }
}

#[test]
fn invisible_characters_are_escaped() {
    for (text, shown) in [
        ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
        ("abc\u{202e}fed", "abc\\u{202e}fed"),
        ("a\u{200b}b", "a\\u{200b}b"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("bell\u{7}", "bell\\u{7}"),
        ("c1\u{9b}31m", "c1\\u{9b}31m"),
    ] {
        assert_eq!(line(text), shown);
        assert_eq!(lines(text), shown);
    }
}

#[test]
fn line_ends_stay_only_in_multi_line_text() {
    assert_eq!(line("a\nb\tc\r"), "a\\nb\\tc\\r");
    assert_eq!(lines("a\r\nb\tc\rd"), "a\nb\tc\\rd", "a lone return would overwrite its line");
}

#[test]
fn a_further_line_is_indented_so_it_cannot_imitate_a_message() {
    assert_eq!(indented_lines("failed\r\nerror: disk full"), "failed\n  error: disk full");
}

#[test]
fn emoji_in_prose_stay_unchanged() {
    for (text, shown) in [
        ("⚠\u{fe0f} hot", "⚠ hot"),
        ("👩\u{200d}🚀", "👩🚀"),
        ("❤\u{fe0f}\u{200d}🔥", "❤🔥"),
        ("a\u{fe0f}b", "a\\u{fe0f}b"),
        ("⚠\u{fe0f}\u{fe0f}", "⚠"),
        ("x\u{202e}y\n", "x\\u{202e}y\\n"),
    ] {
        assert_eq!(prose(text), shown, "{text:?}");
    }
}

#[test]
fn escaped_json_has_the_same_value() {
    let text = "{\n\t\"a\": \"x\u{202e}y\u{e0041}z\u{9b}\"\n}";
    let shown = json(text);
    assert!(!shown.chars().any(|c| is_invisible(c) && !matches!(c, '\n' | '\t')));
    let before: serde_json::Value = serde_json::from_str(text).unwrap();
    let after: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(before, after);
}
