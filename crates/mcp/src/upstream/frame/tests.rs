use super::*;

#[test]
fn reads_what_servers_send() {
    let read = |text: &'static str| format!("{:?}", parse(text));
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
        Ok(IncomingMessage::Result(id, _)) => ids.push(id),
        other => panic!("{other:?}"),
    });
    assert_eq!(ids, [1, 2]);
    assert_eq!(read_all(b"[1]"), ["unreadable None: it is neither a request, a notification nor an answer"]);
    assert_eq!(read_all(b"[]"), ["unreadable None: it is an empty batch"]);
    // One unreadable message does not cost the others.
    let mixed = br#"[{"id":1,"result":{}},{"id":2,"error":"broke"},{"id":3,"result":null}]"#;
    assert_eq!(
        read_all(mixed),
        [
            "result 1 {}",
            "error Some(2) -32603 broke",
            "unreadable Some(3): it is neither a request, a notification nor an answer",
        ]
    );
}

/// The messages of a text, each as a line.
fn read_all(text: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    parse_all(text, |message| all.push(describe(message)));
    all
}

fn describe(message: Result<IncomingMessage<'_>, UnreadableMessage>) -> String {
    match message {
        Ok(IncomingMessage::Result(id, result)) => format!("result {id} {result}"),
        Ok(IncomingMessage::Error(id, error)) => format!("error {id:?} {} {}", error.code.0, error.message),
        Ok(IncomingMessage::Request(id, method, _)) => format!("request {id} {method}"),
        Ok(IncomingMessage::Notification(method, _)) => format!("notification {method}"),
        Err(unreadable) => match unreadable.own_request {
            Some(id) => format!("unreadable request {id}"),
            None => format!("unreadable {:?}: {}", unreadable.answered_request, unreadable.reason),
        },
    }
}

#[test]
fn an_error_of_the_wrong_form_says_what_the_server_said() {
    for (error, expected) in [
        (r#""broke""#, "-32603 broke"),
        (r#"{"code":"E_IO","message":"no disk"}"#, "-32603 no disk (E_IO)"),
        (r#"{"code":"-32001","message":"gone"}"#, "-32001 gone"),
        (r#"{"code":-32602}"#, r#"-32602 {"code":-32602}"#),
        (r#"{"code":1,"message":{"a":1}}"#, r#"1 {"a":1}"#),
        ("[1]", "-32603 [1]"),
        (r#"{"code":-32001,"message":"x \ud83d"}"#, "-32001 x \u{FFFD}"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#);
        assert_eq!(read_all(text.as_bytes()), [format!("error Some(7) {expected}")], "{error}");
    }
}

#[test]
fn a_result_keeps_its_bytes_and_a_bad_character_costs_only_itself() {
    let text = r#"{"id":7,"result":{"text":"x \ud83d"}}"#;
    assert_eq!(read_all(text.as_bytes()), [r#"result 7 {"text":"x \ud83d"}"#]);
    assert_eq!(
        read_all(b"{\"id\":7,\"result\":{\"text\":\"caf\xE9\"}}"),
        ["result 7 {\"text\":\"caf\u{FFFD}\"}"]
    );
    let odd = r#"{"\ud83d":1,"id":7,"result":{}}"#;
    assert_eq!(read_all(odd.as_bytes()), ["result 7 {}"]);
    assert_eq!(read_all(br#"{"id":7.0,"result":{}}"#), ["result 7 {}"]);
}

#[test]
fn an_unreadable_message_names_the_request_that_it_answers() {
    let answered = |text: &[u8]| {
        let mut found = Vec::new();
        let rest = parse_sequence(text, |message| found.push(describe(message)));
        (found, rest)
    };
    let one = |text: &[u8]| answered(text).0.join("; ");
    assert!(
        one(br#"{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}"#)
            .starts_with("unreadable Some(7): expected value")
    );
    let prefixed = br#"set {a}: {"jsonrpc":"2.0","id":7,"result":{}}"#;
    assert_eq!(one(prefixed), "unreadable Some(7): it has other text before the message");
    assert_eq!(
        one(br#"{"id":1,"result":{}}{"id":2,"result":{}} [{"id":3,"result":{}}]"#),
        "result 1 {}; result 2 {}; result 3 {}"
    );
    assert_eq!(
        one(br#"{"id":1,"result":{}} done"#),
        "result 1 {}; unreadable None: it has other text before the message"
    );
    // A line of a log in JSON is no answer, and a request of the server has an id of its own.
    assert!(one(br#"{"level":"info","id":7,"x":NaN}"#).starts_with("unreadable None"));
    assert_eq!(
        one(br#"{"jsonrpc":"2.0","id":"q1","method":"ping","params":NaN}"#),
        r#"unreadable request "q1""#
    );
    assert_eq!(answered(br#"{"id":7,"result":{"#), (Vec::new(), Some(r#"{"id":7,"result":{"#.to_owned())));
    assert_eq!(answered(b"  "), (Vec::new(), None));
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
    match parse(&text).unwrap() {
        IncomingMessage::Error(Some(7), error) => {
            assert_eq!(error.message, "the result has more than 500000 JSON values");
        }
        other => panic!("{other:?}"),
    }
}
