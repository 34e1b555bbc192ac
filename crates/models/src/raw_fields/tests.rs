use super::*;

#[test]
fn a_field_is_put_at_the_end_of_an_object() {
    let raw = |text: &str| RawJson::parse(text).unwrap();
    let with = |object: &str| append_field(&raw(object), "x", &raw("1")).get().to_owned();
    assert_eq!(with(r#"{"a": {}}"#), r#"{"a": {},"x":1}"#);
    assert_eq!(with("{}"), r#"{"x":1}"#);
    assert_eq!(with("{ }"), r#"{ "x":1}"#);
    assert_eq!(with("[]"), "[]");
}
