use toolway_types::CallId;

use super::*;
use crate::provider::ProviderKind;

fn config(name: &str) -> ProviderConfig {
    ProviderConfig::new(name, ProviderKind::Gemini, "http://localhost".parse().unwrap())
}

fn sent(text: &str, is_cut: bool) -> String {
    let call = ToolCall { id: CallId::new(), name: "t".into(), arguments: text.into(), is_cut, opaque: None };
    arguments(&call, &ConvertedTools::default()).get().to_owned()
}

#[test]
fn what_is_kept_goes_back_to_the_provider_and_the_model_that_it_is_of() {
    let kept = Kept { model: "m".into(), id: Some("1".into()), signature: Some("s".into()), redacted: None };
    let opaque = kept.opaque(&config("mine"));
    assert_eq!(opaque.data.get(), r#"{"model":"m","id":"1","signature":"s"}"#);
    let back = Kept::of(Some(&opaque), &config("mine")).unwrap();
    assert_eq!((back.id.as_deref(), back.signature.as_deref(), back.redacted), (Some("1"), Some("s"), None));
    assert!(Kept::of_model(Some(&opaque), &config("mine"), "m").is_some());
    assert!(Kept::of_model(Some(&opaque), &config("mine"), "n").is_none());
    assert!(Kept::of(Some(&opaque), &config("other")).is_none());
    assert!(Kept::of(None, &config("mine")).is_none());
}

#[test]
fn what_another_version_kept_is_no_reason_to_fail() {
    for data in ["1", r#"{"model": 5}"#, "null"] {
        let opaque = Opaque { provider: "mine".into(), data: RawJson::parse(data).unwrap() };
        assert!(Kept::of(Some(&opaque), &config("mine")).is_none(), "{data}");
    }
    let opaque = Opaque { provider: "mine".into(), data: RawJson::parse(r#"{"new": 5}"#).unwrap() };
    assert!(Kept::of(Some(&opaque), &config("mine")).unwrap().id.is_none());
}

#[test]
fn arguments_are_always_an_object() {
    assert_eq!(sent("", false), "{}");
    assert_eq!(sent(" \n", false), "{}");
    assert_eq!(sent(r#"{ "b":1.0,"a":2 }"#, false), r#"{ "b":1.0,"a":2 }"#);
    assert_eq!(sent("[1]", false), r#"{"unreadable_arguments":"[1]"}"#);
    assert_eq!(sent("{'a':1}", false), r#"{"unreadable_arguments":"{'a':1}"}"#);
    assert_eq!(sent("{}{}", false), r#"{"unreadable_arguments":"{}{}"}"#);
    // One that looks whole may be cut all the same.
    assert_eq!(sent(r#"{"a":1}"#, true), r#"{"unreadable_arguments":"{\"a\":1}"}"#);
    assert_eq!(sent("", true), r#"{"unreadable_arguments":""}"#);
    let long = sent(&"é".repeat(5_000), false);
    assert!(long.len() < SHOWN + 50 && serde_json::from_str::<serde_json::Value>(&long).is_ok());
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
