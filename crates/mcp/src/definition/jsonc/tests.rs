use super::*;

#[test]
fn comments_and_trailing_commas_go_and_all_else_stays_in_its_place() {
    let text = "// ä\n{ \"a\": \"//no \\\" /*\", /* x\ny */ \"b\": [1, 2 , ], // end\n}\n";
    let plain = to_json(text);
    assert_eq!(plain.len(), text.len());
    assert_eq!(plain.lines().count(), text.lines().count());
    let value: serde_json::Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(value, serde_json::json!({"a": "//no \" /*", "b": [1, 2]}));
    assert!(!without_comments(text).contains("end") && without_comments(text).contains(", ], "));
}

#[test]
fn what_is_no_json_stays_none() {
    for text in ["{\"a\": 1,, }", "[,]", "{,}", "{\"a", "/* never ends", "{\"a\\"] {
        assert!(serde_json::from_str::<serde_json::Value>(&to_json(text)).is_err(), "{text}");
    }
    assert_eq!(to_json("[1,2]"), "[1,2]");
}

proptest::proptest! {
    #[test]
    fn any_text_keeps_its_length(text in "[\\PC\n\"/*,{}\\\\]{0,64}") {
        proptest::prop_assert_eq!(to_json(&text).len(), text.len());
    }
}
