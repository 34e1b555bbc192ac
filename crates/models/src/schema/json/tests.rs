use super::*;

fn read(text: &str) -> OrderedJson {
    serde_json::from_str(text).unwrap()
}

#[test]
fn object_fields_keep_their_order() {
    let text = r#"{"z":1,"a":{"y":null,"b":[true,-2,1.5,"é"]},"m":{}}"#;
    assert_eq!(read(text).to_json_string(), text);
}

#[test]
fn a_duplicate_name_keeps_the_last_value() {
    assert_eq!(read(r#"{"a":1,"b":2,"a":3}"#).to_json_string(), r#"{"a":3,"b":2}"#);
}

#[test]
fn every_value_reports_its_type() {
    for (text, kind) in [
        ("null", "null"),
        ("true", "boolean"),
        ("3", "integer"),
        ("3.0", "integer"),
        ("3.5", "number"),
        ("18446744073709551615", "integer"),
        (r#""x""#, "string"),
        ("[]", "array"),
        ("{}", "object"),
    ] {
        assert_eq!(read(text).kind(), kind, "{text}");
    }
    assert_eq!(read(r#"{"a":[1,{"b":2}]}"#).value_count(), 5);
}

#[test]
fn a_field_is_inserted_at_its_place() {
    let OrderedJson::Object(mut fields) = read(r#"{"a":1,"b":2,"c":3}"#) else { unreachable!() };
    fields.put("b", OrderedJson::Null);
    fields.put("d", OrderedJson::Bool(true));
    fields.put_first("c", OrderedJson::text("first"));
    assert_eq!(fields.take("a"), Some(OrderedJson::Number(1.into())));
    assert_eq!(OrderedJson::Object(fields).to_json_string(), r#"{"c":"first","b":null,"d":true}"#);
}
