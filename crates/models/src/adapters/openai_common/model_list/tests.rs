use super::*;

fn models(body: &str) -> Option<Vec<(String, Option<u64>)>> {
    let models = parse_model_list(body.as_bytes())?.models;
    Some(models.into_iter().map(|model| (model.id, model.context_tokens)).collect())
}

#[test]
fn every_form_of_the_model_list_is_parsed() {
    let expected = |tokens| Some(vec![("m".to_owned(), tokens)]);
    assert_eq!(
        models(r#"{"object":"list","data":[{"id":"m","object":"model","created":1}]}"#),
        expected(None)
    );
    assert_eq!(models(r#"{"data":[{"id":"m","context_length":128000}]}"#), expected(Some(128_000)));
    assert_eq!(models(r#"{"data":[{"id":"m","max_model_len":4096.0}]}"#), expected(Some(4096)));
    assert_eq!(models(r#"{"data":[{"id":"m","context_window":8192}]}"#), expected(Some(8192)));
    assert_eq!(models(r#"{"data":[{"id":"m","max_context_length":32768}]}"#), expected(Some(32_768)));
    assert_eq!(models(r#"[{"id":"m","context_length":0},{"name":"no id"}]"#), expected(None));
    assert_eq!(models(r#"{"models":[]}"#), None);
    assert_eq!(models("<html>"), None);
}
