use serde_json::json;

use super::*;

#[test]
fn what_the_owner_adds_stands_in_place_of_ours() {
    let extra = json!({"temperature": 0.1, "zeta": [1]});
    let extra = extra.as_object().unwrap();
    let mut body = BodyWriter::new(extra, 0);
    body.field("model", "m\"");
    body.field("temperature", &1.0);
    body.some("seed", None::<&i64>);
    body.some("stop", Some(&["a"]));
    let bytes = body.finish(&"p".into()).unwrap();
    assert_eq!(bytes, &br#"{"model":"m\"","stop":["a"],"temperature":0.1,"zeta":[1]}"#[..]);
}

#[test]
fn no_field_at_all_is_an_empty_object() {
    assert_eq!(BodyWriter::new(&JsonObject::new(), 0).finish(&"p".into()).unwrap(), &b"{}"[..]);
}

#[test]
fn what_has_no_json_form_is_an_error() {
    let extra = JsonObject::new();
    let mut body = BodyWriter::new(&extra, 0);
    body.field("odd", &std::collections::BTreeMap::from([((1, 2), 3)]));
    assert_eq!(body.finish(&"p".into()).unwrap_err().kind, ModelErrorKind::InvalidRequest);
}
