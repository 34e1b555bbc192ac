use super::*;

#[test]
fn a_message_is_told_by_its_parts() {
    for (text, kind) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Kind::Request),
        (r#"{"method":"a","params":{"id":1},"jsonrpc":"2.0","id":"x"}"#, Kind::Request),
        (r#"{"jsonrpc":"2.0","method":"ping"}"#, Kind::Notification),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Kind::Answer),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#, Kind::Answer),
        (r#"{"jsonrpc":"2.0","id":1}"#, Kind::Odd),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#, Kind::Odd),
        ("{}", Kind::Odd),
    ] {
        assert_eq!(Outline::of(text).unwrap().kind(), kind, "{text}");
    }
    assert!(Outline::of("7").is_none() && Outline::of("{").is_none());
}

#[test]
fn an_id_is_one_however_it_is_written() {
    let id = |text: &str| Outline::of(text).unwrap().id().unwrap();
    assert_eq!(id(r#"{"id":1.0}"#), id(r#"{"id": 1 }"#));
    assert_eq!(id(r#"{"id":"\u0061"}"#), Id::text("a"));
    assert_ne!(id(r#"{"id":1}"#), id(r#"{"id":"1"}"#));
    assert_eq!(id(r#"{"id":9007199254740993}"#).json(), "9007199254740993");
}

/// All but the id stays as it was written.
#[test]
fn a_message_under_another_id_says_the_same() {
    let text = r#"{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"z":1.50,"a":"\u0041"}}"#;
    let said = Outline::of(text).unwrap().under(&Id::text("1:0"));
    let expected =
        r#"{"jsonrpc":"2.0","id":"1:0","method":"elicitation/create","params":{"z":1.50,"a":"\u0041"}}"#;
    assert_eq!(said, expected);
    let answer = Outline::of(r#"{"result":{"b":1.0},"id":"x"}"#).unwrap().under(&Id::text("y"));
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"y","result":{"b":1.0}}"#);
}

#[test]
fn what_is_asked_in_vain_is_answered_with_what_to_do() {
    let failure = Failure::new("no gateway is running").code("not_running").hint("start one");
    let said = all_failed(r#"{"jsonrpc":"2.0","id":"i","method":"initialize"}"#, &failure).unwrap();
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
        assert_eq!(all_failed(nothing, &failure), None, "{nothing}");
    }
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#;
    let said: Value = serde_json::from_str(&all_failed(batch, &failure).unwrap()).unwrap();
    assert_eq!(said[0]["id"], 1);
    assert_eq!(said.as_array().unwrap().len(), 1);
}
