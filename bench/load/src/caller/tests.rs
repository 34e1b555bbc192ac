use super::*;

fn calls() -> CallTemplate {
    CallTemplate::new(&["phone__search_notes".to_owned(), "phone__read_note".to_owned()], 10)
}

fn refused(id: u64, why: &str) -> Option<CallReply> {
    Some(CallReply { id: Some(id), refusal: Some(why.to_owned()) })
}

#[test]
fn a_frame_is_a_call_of_one_of_the_names() {
    let frame = calls().frame(7, 1);
    match toolway_wire::ClientMessage::decode(&frame).unwrap() {
        toolway_wire::ClientMessage::CallTool(call) => {
            assert_eq!((call.id.as_str(), call.name.as_str()), ("7", "phone__read_note"));
            assert_eq!(call.args.unwrap().get(), r#"{"text":"The quick "}"#);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_right_result_is_told_from_gateway_and_device() {
    let right = Some(CallReply { id: Some(7), refusal: None });
    let gateway = r#"{"type":"call_result","id":"7","call_id":"x","duration_ms":0.1,"status":"success","result":"The quick "}"#;
    assert_eq!(calls().parse_reply(gateway), right);
    let device = r#"{"type":"tool_result","id":"7","output":"The quick ","success":true}"#;
    assert_eq!(calls().parse_reply(device), right);
}

#[test]
fn anything_else_is_refused_by_its_code_or_kind() {
    let failed = r#"{"type":"call_result","id":"7","status":"error","error_type":"timeout","message":"m","code":"timeout"}"#;
    assert_eq!(calls().parse_reply(failed), refused(7, "timeout"));
    let wrong = r#"{"type":"call_result","id":"7","status":"success","result":"The slow "}"#;
    assert_eq!(calls().parse_reply(wrong), refused(7, "wrong result"));
    let error = r#"{"type":"error","message":"m","code":"LIMIT_EXCEEDED"}"#;
    assert_eq!(
        calls().parse_reply(error),
        Some(CallReply { id: None, refusal: Some("LIMIT_EXCEEDED".to_owned()) })
    );
    assert_eq!(calls().parse_reply(r#"{"type":"session_start","session_id":"s"}"#), None);
    assert!(calls().parse_reply("x").unwrap().refusal.unwrap().starts_with("unreadable"));
}

#[test]
fn tallies_add_up_by_kind() {
    let mut tally = CallTally::default();
    tally.count_error("timeout");
    let mut other = CallTally::default();
    other.count_error("timeout");
    other.count_error("denied");
    tally.append(other);
    assert_eq!(tally.errors, BTreeMap::from([("denied".to_owned(), 1), ("timeout".to_owned(), 2)]));
    assert_eq!(tally.error_count(), 3);
}
