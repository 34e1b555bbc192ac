use super::*;

#[test]
fn messages_are_classified_by_their_fields() {
    for (text, kind) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, JsonRpcKind::Request),
        (r#"{"method":"a","params":{"id":1},"jsonrpc":"2.0","id":"x"}"#, JsonRpcKind::Request),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, JsonRpcKind::Notification),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, JsonRpcKind::Response),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#, JsonRpcKind::Response),
        (r#"{"jsonrpc":"2.0","id":1}"#, JsonRpcKind::Invalid),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, JsonRpcKind::Invalid),
        ("{}", JsonRpcKind::Invalid),
    ] {
        assert_eq!(MessageOutline::parse(text).unwrap().kind(), kind, "{text}");
    }
    assert!(MessageOutline::parse("7").is_none() && MessageOutline::parse("{").is_none());
}

#[test]
fn equal_ids_in_different_notations_are_the_same() {
    let id = |text: &str| MessageOutline::parse(text).unwrap().id().unwrap();
    assert_eq!(id(r#"{"id":1.0}"#), id(r#"{"id": 1 }"#));
    assert_eq!(id(r#"{"id":"\u0061"}"#), JsonRpcId::from_text("a"));
    assert_ne!(id(r#"{"id":1}"#), id(r#"{"id":"1"}"#));
    assert_eq!(id(r#"{"id":9007199254740993}"#).as_json(), "9007199254740993");
}

/// Everything but the id stays unchanged.
#[test]
fn changing_the_id_keeps_the_rest_of_a_message() {
    let text = r#"{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"z":1.50,"a":"\u0041"}}"#;
    let said = MessageOutline::parse(text).unwrap().with_id(&JsonRpcId::from_text("1:0"));
    let expected =
        r#"{"jsonrpc":"2.0","id":"1:0","method":"elicitation/create","params":{"z":1.50,"a":"\u0041"}}"#;
    assert_eq!(said, expected);
    let answer = MessageOutline::parse(r#"{"result":{"b":1.0},"id":"x"}"#)
        .unwrap()
        .with_id(&JsonRpcId::from_text("y"));
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"y","result":{"b":1.0}}"#);
}

#[test]
fn failed_requests_get_an_error_with_a_hint() {
    let failure = CliError::new("no gateway is running").with_code("not_running").with_hint("start one");
    let said = error_responses(r#"{"jsonrpc":"2.0","id":"i","method":"initialize"}"#, &failure).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        said,
        json!({"jsonrpc": "2.0", "id": "i", "error": {
            "code": -32000,
            "message": "no gateway is running. Hint: start one",
            "data": {"code": "not_running", "hint": "start one"},
        }})
    );
    for nothing in
        [r#"{"jsonrpc":"2.0","method":"x"}"#, r#"{"jsonrpc":"2.0","id":1,"result":1}"#, "no JSON", "[]"]
    {
        assert_eq!(error_responses(nothing, &failure), None, "{nothing}");
    }
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#;
    let said: Value = serde_json::from_str(&error_responses(batch, &failure).unwrap()).unwrap();
    assert_eq!(said[0]["id"], 1);
    assert_eq!(said.as_array().unwrap().len(), 1);
}
