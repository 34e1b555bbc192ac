use super::*;
use crate::provider_kind::ProviderKind;

fn config(name: &str) -> ProviderConfig {
    ProviderConfig::new(name, ProviderKind::Gemini, "http://localhost".parse().unwrap())
}

#[test]
fn stored_data_goes_back_only_to_its_provider_and_model() {
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
fn stored_data_of_another_version_is_ignored() {
    for data in ["1", r#"{"model": 5}"#, "null"] {
        let opaque = OpaqueState { provider: "mine".into(), data: RawJson::parse(data).unwrap() };
        assert!(OpaquePayload::from_opaque(Some(&opaque), &config("mine")).is_none(), "{data}");
    }
    let opaque = OpaqueState { provider: "mine".into(), data: RawJson::parse(r#"{"new": 5}"#).unwrap() };
    assert!(OpaquePayload::from_opaque(Some(&opaque), &config("mine")).unwrap().id.is_none());
}
