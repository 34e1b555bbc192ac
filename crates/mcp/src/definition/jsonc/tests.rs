use serde_json::json;

use super::*;

#[test]
fn comments_and_trailing_commas_go_and_all_else_is_read() {
    let text = "// ä\n{ \"a\": \"//no \\\" /*\", /* x\ny */ \"b\": [1, 2 , ], // end\n}\n";
    let value = json!({"a": "//no \" /*", "b": [1, 2]});
    assert_eq!(parse(text).unwrap(), value);
    assert_eq!(parse(&format!("\u{feff}{text}")).unwrap(), value);
    let numbers = format!("[{}, -1e5, 1.50, {}]", u64::MAX, i64::MIN);
    assert_eq!(parse(&numbers).unwrap(), serde_json::from_str::<Value>(&numbers).unwrap());
}

#[test]
fn what_is_no_json_stays_none() {
    for text in [
        "",
        " ",
        "{\"a\": 1,, }",
        "[,]",
        "{,}",
        "{\"a",
        "/* never ends",
        "{\"a\\",
        "[1 2]",
        "{a: 1}",
        "['a']",
        "[0x1]",
        "[+1]",
        "[.5]",
        "[1.]",
        "[01]",
        "[NaN]",
        "{} {}",
        "[1e400]",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(parse("{\n  \"a\": x\n}").unwrap_err(), "Unexpected word on line 2 column 8");
}

proptest::proptest! {
    #[test]
    fn plain_json_is_read_as_ever(text in "[ \n\"/*,{}\\\\:a1\\[\\]-]{0,24}") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            proptest::prop_assert_eq!(parse(&text), Ok(value));
        }
    }
}
