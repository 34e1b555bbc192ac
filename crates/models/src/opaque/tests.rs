use toolway_types::CallId;

use super::*;
use crate::provider::ProviderKind;

fn config(name: &str) -> ProviderConfig {
    ProviderConfig::new(name, ProviderKind::Gemini, "http://localhost".parse().unwrap())
}

fn sent_arguments(text: &str, is_cut: bool) -> String {
    let call = ToolCall { id: CallId::new(), name: "t".into(), arguments: text.into(), is_cut, opaque: None };
    arguments_json(&call, &ConvertedTools::default()).get().to_owned()
}

#[test]
fn what_is_kept_goes_back_to_the_provider_and_the_model_that_it_is_of() {
    let kept = OpaquePayload {
        model: "m".into(),
        id: Some("1".into()),
        signature: Some("s".into()),
        redacted: None,
    };
    let opaque = kept.to_opaque(&config("mine"));
    assert_eq!(opaque.data.get(), r#"{"model":"m","id":"1","signature":"s"}"#);
    let back = OpaquePayload::from_opaque(Some(&opaque), &config("mine")).unwrap();
    assert_eq!((back.id.as_deref(), back.signature.as_deref(), back.redacted), (Some("1"), Some("s"), None));
    assert!(OpaquePayload::from_opaque_of_model(Some(&opaque), &config("mine"), "m").is_some());
    assert!(OpaquePayload::from_opaque_of_model(Some(&opaque), &config("mine"), "n").is_none());
    assert!(OpaquePayload::from_opaque(Some(&opaque), &config("other")).is_none());
    assert!(OpaquePayload::from_opaque(None, &config("mine")).is_none());
}

#[test]
fn what_another_version_kept_is_no_reason_to_fail() {
    for data in ["1", r#"{"model": 5}"#, "null"] {
        let opaque = OpaqueState { provider: "mine".into(), data: RawJson::parse(data).unwrap() };
        assert!(OpaquePayload::from_opaque(Some(&opaque), &config("mine")).is_none(), "{data}");
    }
    let opaque = OpaqueState { provider: "mine".into(), data: RawJson::parse(r#"{"new": 5}"#).unwrap() };
    assert!(OpaquePayload::from_opaque(Some(&opaque), &config("mine")).unwrap().id.is_none());
}

#[test]
fn arguments_are_always_an_object() {
    assert_eq!(sent_arguments("", false), "{}");
    assert_eq!(sent_arguments(" \n", false), "{}");
    assert_eq!(sent_arguments(r#"{ "b":1.0,"a":2 }"#, false), r#"{ "b":1.0,"a":2 }"#);
    assert_eq!(sent_arguments("[1]", false), r#"{"unreadable_arguments":"[1]"}"#);
    assert_eq!(sent_arguments("{'a':1}", false), r#"{"unreadable_arguments":"{'a':1}"}"#);
    assert_eq!(sent_arguments("{}{}", false), r#"{"unreadable_arguments":"{}{}"}"#);
    // One that looks whole may be cut all the same.
    assert_eq!(sent_arguments(r#"{"a":1}"#, true), r#"{"unreadable_arguments":"{\"a\":1}"}"#);
    assert_eq!(sent_arguments("", true), r#"{"unreadable_arguments":""}"#);
    let long = sent_arguments(&"é".repeat(5_000), false);
    assert!(long.len() < MAX_SHOWN_BYTES + 50 && serde_json::from_str::<serde_json::Value>(&long).is_ok());
}

#[test]
fn what_some_api_can_t_read_is_no_json() {
    for (json, readable) in [
        (r#"{"a":1e300}"#, true),
        (r#"{"a":1e400}"#, false),
        (r#"{"a":"1e400"}"#, true),
        (r#"{"a":"\ud83d\ude00"}"#, true),
        (r#"{"a":"\uD83D"}"#, false),
        (r#"{"a":12345678901234567890123}"#, true),
    ] {
        assert_eq!(is_readable(json), readable, "{json}");
    }
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(is_readable(&nested(MAX_LEVELS)) && !is_readable(&nested(MAX_LEVELS + 1)));
}
