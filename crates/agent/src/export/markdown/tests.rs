use super::*;

#[test]
fn json_is_indented_and_else_left_as_it_was_written() {
    let text = r#"{"z":1.0,"a":[1e3,{},[ ],"b,{\"c\": [\\"],"n" : 12345678901234567890123 , "u":"\u00e9 x"}"#;
    let expected = r#"{
  "z": 1.0,
  "a": [
    1e3,
    {},
    [],
    "b,{\"c\": [\\"
  ],
  "n": 12345678901234567890123,
  "u": "\u00e9 x"
}"#;
    assert_eq!(indented(text), expected);
    for same in ["", "{\"a\": tr", "5", "\"a b\"", "no json, {a}"] {
        assert_eq!(indented(same), same);
    }
    let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
    assert_eq!(indented(&deep), deep);
}

#[test]
fn durations_are_short() {
    for (micros, words) in
        [(0, "0 ms"), (1, "1 ms"), (4321, "5 ms"), (9_999_999, "10000 ms"), (10_000_000, "10 s")]
    {
        assert_eq!(format_duration(micros), words);
    }
}
