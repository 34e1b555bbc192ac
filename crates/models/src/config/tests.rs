use super::*;

fn config() -> ProviderConfig {
    ProviderConfig::new("mine", ProviderKind::Compatible, "http://127.0.0.1:1".parse().unwrap())
}

#[test]
fn a_key_is_not_shown_and_loses_line_breaks() {
    let config = config().with_key("sk-secret\n", "the file key.txt");
    assert!(!format!("{config:?}").contains("sk-secret"));
    let headers = config.key_header(http::header::AUTHORIZATION, "Bearer ").unwrap();
    let value = headers.get("authorization").unwrap();
    assert_eq!(value, "Bearer sk-secret");
    assert!(value.is_sensitive());

    let error =
        config.with_key("a\nb", "the file key.txt").key_header(http::header::AUTHORIZATION, "").unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Auth);
    assert!(error.hint.unwrap().contains("the file key.txt"));
}

#[test]
fn timeouts_are_in_seconds() {
    let timeouts: ProviderTimeouts = serde_json::from_str(r#"{"first_byte_s":1.5}"#).unwrap();
    assert_eq!(timeouts.first_byte, std::time::Duration::from_millis(1500));
    assert_eq!(timeouts.connect, ProviderTimeouts::default().connect);
    assert!(serde_json::from_str::<ProviderTimeouts>(r#"{"idle_s":-1}"#).is_err());
    assert!(serde_json::from_str::<RetryPolicy>(r#"{"max_backoff_s":1e300}"#).is_err());
}
