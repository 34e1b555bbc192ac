//! Compares the envelope with `testdata/envelope.json`, the golden file shared by all entry points.

use super::*;
use crate::error::{Code, ToolError};
use crate::json::RawJson;

fn golden(name: &str) -> String {
    let file: serde_json::Value = serde_json::from_str(include_str!("../../testdata/envelope.json")).unwrap();
    file[name].to_string()
}

#[track_caller]
fn check(name: &str, outcome: Outcome) {
    let written: serde_json::Value =
        serde_json::from_str(&serde_json::to_string(&ResultEnvelope(&outcome)).unwrap()).unwrap();
    assert_eq!(written.to_string(), golden(name));
    let mut members = String::new();
    ResultEnvelope(&outcome).push_members(&mut members);
    assert_eq!(format!("{{{members}}}"), serde_json::to_string(&ResultEnvelope(&outcome)).unwrap());
}

#[test]
fn text() {
    check("text", Outcome::Success(ToolOutput::text("{\"model\":\"Pixel 8\"}")));
}

#[test]
fn structured() {
    let value = RawJson::parse(r#"{"total":12.5}"#).unwrap();
    check("structured", Outcome::Success(ToolOutput::structured(value)));
}

#[test]
fn image_beside_text() {
    let content = vec![
        ContentPart::text("a picture"),
        ContentPart::Image { data: "aGk=".into(), mime_type: "image/png".into() },
    ];
    check("image", Outcome::Success(ToolOutput::new(content, None)));
}

#[test]
fn error() {
    let error = ToolError::new(Code::DeviceDisconnected, "the device went away")
        .with_dispatched(true)
        .with_hint("it may have run");
    check("error", Outcome::Error(error));
}

#[test]
fn authorize_intent() {
    let mut error = ToolError::new(Code::AuthRequired, "open the app and allow access");
    error.authorize_intent = Some(RawJson::parse(r#"{"action":"x.AUTHORIZE"}"#).unwrap());
    check("auth_required", Outcome::Error(error));
}
