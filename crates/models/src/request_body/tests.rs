use serde_json::json;

use super::*;

#[test]
fn the_owners_fields_replace_ours() {
    let extra = json!({"temperature": 0.1, "zeta": [1]});
    let extra = extra.as_object().unwrap();
    let mut body = RequestBodyWriter::new(extra, 0);
    body.field("model", "m\"");
    body.field("temperature", &1.0);
    body.optional_field("seed", None::<&i64>);
    body.optional_field("stop", Some(&["a"]));
    let bytes = body.finish(&"p".into()).unwrap();
    assert_eq!(bytes, &br#"{"model":"m\"","stop":["a"],"temperature":0.1,"zeta":[1]}"#[..]);
}

#[test]
fn a_body_without_fields_is_an_empty_object() {
    assert_eq!(RequestBodyWriter::new(&JsonObject::new(), 0).finish(&"p".into()).unwrap(), &b"{}"[..]);
}

#[test]
fn a_value_without_json_form_is_an_error() {
    let extra = JsonObject::new();
    let mut body = RequestBodyWriter::new(&extra, 0);
    body.field("odd", &std::collections::BTreeMap::from([((1, 2), 3)]));
    assert_eq!(body.finish(&"p".into()).unwrap_err().kind, ModelErrorKind::InvalidRequest);
}

#[test]
fn the_owners_fields_are_merged_into_an_object() {
    let raw = |text: &str| RawJson::parse(text).unwrap();
    let written = |extra: serde_json::Value, ours: &[(&'static str, RawJson)]| {
        let extra = extra.as_object().unwrap();
        let mut body = RequestBodyWriter::new(extra, 0);
        body.object("config", ours);
        String::from_utf8(body.finish(&"p".into()).unwrap().to_vec()).unwrap()
    };
    let ours = [("z", raw(r#"{"y":1,"a":2}"#)), ("b", raw("3"))];
    // In the order in which it was said.
    assert_eq!(written(json!({}), &ours), r#"{"config":{"z":{"y":1,"a":2},"b":3}}"#);
    assert_eq!(
        written(json!({"config": {"b": 4, "c": 5}, "d": 6}), &ours),
        r#"{"config":{"z":{"y":1,"a":2},"b":4,"c":5},"d":6}"#
    );
    assert_eq!(written(json!({"config": null}), &ours), r#"{"config":null}"#);
    assert_eq!(written(json!({"config": {"c": 5}}), &[]), r#"{"config":{"c":5}}"#);
    assert_eq!(written(json!({}), &[]), "{}");
}
