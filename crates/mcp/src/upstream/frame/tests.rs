use super::*;

#[test]
fn reads_what_servers_send() {
    let read = |text: &'static str| format!("{:?}", parse(text.as_bytes()));
    let is = |text: &'static str, start: &str| {
        let got = read(text);
        assert!(got.starts_with(start), "{text}: {got}");
    };
    is(r#"{"jsonrpc":"2.0","id":3,"result":{"b":1.0,"a":[]}}"#, r#"Ok(Result(3, RawValue({"b":1.0,"a":[]})"#);
    is(r#"{"jsonrpc":"2.0","id":"3","result":{}}"#, "Ok(Result(3,");
    is(r#"{"id":3,"error":{"code":-32601,"message":"no"}}"#, "Ok(Error(Some(3),");
    is(r#"{"id":null,"error":{"code":-32700,"message":"no"}}"#, "Ok(Error(None,");
    is(r#"{"id":"x","method":"ping"}"#, r#"Ok(Request(RawValue("x"), "ping", None)"#);
    is(
        r#"{"method":"notifications/message","params":{"a":1}}"#,
        r#"Ok(Notification("notifications/message","#,
    );
    is(r#"{"id":true,"result":{}}"#, "Err(");
    is(r#"{"id":1}"#, "Err(");
    is("hello", "Err(");
    is(r#"{"id":1,"result":{}} {"#, "Err(");
}

#[test]
fn reads_batches() {
    let mut ids = Vec::new();
    let batch = br#" [{"id":1,"result":{}},{"id":2,"result":{}}]"#;
    parse_all(batch, |message| match message {
        IncomingMessage::Result(id, _) => ids.push(id),
        other => panic!("{other:?}"),
    })
    .unwrap();
    assert_eq!(ids, [1, 2]);
    assert!(parse_all(b"[1]", |_| {}).is_err());
}

#[test]
fn writes_what_servers_read() {
    let text = |frame: Bytes| String::from_utf8(frame.to_vec()).unwrap();
    assert_eq!(
        text(request(7, "tools/call", r#"{"arguments":{"b":1.0,"a":2}}"#)),
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"b":1.0,"a":2}}}"#
    );
    assert_eq!(
        text(notification("notifications/initialized", None)),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#
    );
    let id: Box<RawValue> = serde_json::from_str(r#""x-1""#).unwrap();
    assert_eq!(text(reply(&id, &Ok(serde_json::json!({})))), r#"{"jsonrpc":"2.0","id":"x-1","result":{}}"#);
    let refusal = Err::<(), _>(ErrorData::invalid_params("no", None));
    assert_eq!(
        text(reply(&id, &refusal)),
        r#"{"jsonrpc":"2.0","id":"x-1","error":{"code":-32602,"message":"no"}}"#
    );
}

#[test]
fn a_result_with_very_many_values_ends_its_request() {
    let text = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"l":[{}0]}}}}"#, "0,".repeat(600_000));
    match parse(text.as_bytes()).unwrap() {
        IncomingMessage::Error(Some(7), error) => {
            assert_eq!(error.message, "the result has more than 500000 JSON values");
        }
        other => panic!("{other:?}"),
    }
}
