use super::*;
use crate::{ClientMessage, GatewayMessage, error_code};

#[track_caller]
fn refused(text: &str, code: &str) -> FrameError {
    let error = ClientMessage::decode(text).unwrap_err();
    assert_eq!(error.code(), code, "{text}: {error}");
    error
}

#[test]
fn a_frame_that_is_not_a_json_object_is_invalid_json() {
    for text in [
        "",
        " ",
        "{",
        "}",
        "null",
        "true",
        "7",
        r#""connect""#,
        "[]",
        r#"[{"type":"connect"}]"#,
        // The struct's fields in order, which serde would accept in place of the object.
        r#"["connect"]"#,
        r#"["cancel_call"]"#,
        r#"{"type":"connect"}x"#,
        r#"{"type":"connect",}"#,
        r#"{type:"connect"}"#,
        r#"{"type":"connect"}{"type":"connect"}"#,
        "{\"type\":\"conn\nect\"}",
        "\u{FEFF}{\"type\":\"connect\"}",
        "NaN",
    ] {
        refused(text, error_code::INVALID_JSON);
    }
}

#[test]
fn an_object_of_an_unknown_type_is_refused() {
    for (text, name) in [
        ("{}", ""),
        (r#"{"type":null}"#, ""),
        (r#"{"type":7}"#, ""),
        (r#"{"type":{"type":"connect"}}"#, ""),
        (r#"{"type":"connect","type":"abort"}"#, ""),
        (r#"{"type":""}"#, ""),
        (r#"{"type":"Connect"}"#, "Connect"),
        (r#"{"type":"\ud800"}"#, "\u{FFFD}"),
        (r#"{"type":"shout","id":"1"}"#, "shout"),
        // A message of the other direction.
        (r#"{"type":"connected","v":1,"message":""}"#, "connected"),
    ] {
        let error = refused(text, error_code::UNKNOWN_MESSAGE_TYPE);
        assert!(matches!(&error, FrameError::UnknownType(it) if it == name), "{text}: {error:?}");
    }
}

#[test]
fn the_type_may_be_at_any_position_and_escaped() {
    let text = r#"{"name":"a","id":"1","t\u0079pe":"call\u005ftool"}"#;
    assert_eq!(ClientMessage::decode(text).unwrap().kind(), "call_tool");
}

#[test]
fn a_field_of_the_wrong_form_is_reported_with_the_id() {
    for (text, kind, id) in [
        (r#"{"type":"tool_result","id":"c1","output":"x","content":{"a":1}}"#, "tool_result", Some("c1")),
        (r#"{"type":"tool_result","output":"x"}"#, "tool_result", None),
        (r#"{"type":"call_tool","id":"1"}"#, "call_tool", Some("1")),
        (r#"{"type":"call_tool","id":"1","name":"a","timeout_ms":-1}"#, "call_tool", Some("1")),
        (r#"{"type":"cancel_call","id":7}"#, "cancel_call", Some("7")),
        (r#"{"type":"register_tools","tools":{}}"#, "register_tools", None),
        (r#"{"type":"tool_progress","id":"c1","progress":1e999}"#, "tool_progress", Some("c1")),
        (r#"{"type":"permission_answer","id":"q1","decision":"maybe"}"#, "permission_answer", Some("q1")),
    ] {
        let error = refused(text, error_code::INVALID_MESSAGE);
        let FrameError::BadField { kind: told, id: carried, .. } = error else { panic!("{error:?}") };
        assert_eq!((told.as_str(), carried.as_deref()), (kind, id), "{text}");
    }
}

#[test]
fn unknown_fields_are_ignored() {
    let plain = ClientMessage::decode(r#"{"type":"call_tool","id":"1","name":"a"}"#).unwrap();
    let text = r#"{"type":"call_tool","x":[1,{"id":"2"}],"id":"1","name":"a","y":null}"#;
    assert_eq!(ClientMessage::decode(text).unwrap(), plain);
    let shown = r#"{"type":"chunk","content":"a","later":{}}"#;
    assert_eq!(GatewayMessage::decode(shown).unwrap().kind(), "chunk");
}

/// Builds a `call_tool` frame that is nested `depth` levels, the frame included.
fn nested(depth: usize) -> String {
    let (open, close) = ("[".repeat(depth - 2), "]".repeat(depth - 2));
    format!(r#"{{"type":"call_tool","id":"1","name":"a","args":{{"x":{open}{close}}}}}"#)
}

#[test]
fn frames_nested_deeper_than_the_limit_are_refused() {
    let ClientMessage::CallTool(call) = ClientMessage::decode(&nested(MAX_DEPTH)).unwrap() else { panic!() };
    // A frame within the limit can also be parsed.
    assert!(call.args.unwrap().to::<serde_json::Value>().is_ok());
    let error = refused(&nested(MAX_DEPTH + 1), error_code::INVALID_JSON);
    assert_eq!(error.to_string(), "the frame is not a JSON object: it is nested deeper than 128 levels");
    // A far deeper frame does not exhaust the stack.
    refused(&nested(1_000_000), error_code::INVALID_JSON);
}

#[test]
fn brackets_in_strings_do_not_count_as_depth() {
    let text = format!(r#"{{"type":"message","content":"{}\"{}"}}"#, "[".repeat(200), "{".repeat(200));
    assert_eq!(ClientMessage::decode(&text).unwrap().kind(), "message");
}

#[test]
fn half_a_surrogate_pair_costs_only_itself_and_stays_in_bytes_that_are_passed_on() {
    let text = r#"{"type":"tool_result","id":"c1","output":"x \ud83d","structured":{"a":"\ud83d"},
        "content":[{"type":"text","text":"\ude00 y"}]}"#;
    let ClientMessage::ToolResult(result) = ClientMessage::decode(text).unwrap() else { panic!() };
    assert_eq!(result.output, "x \u{FFFD}".into());
    assert_eq!(result.content, [toolway_types::ContentPart::text("\u{FFFD} y")]);
    assert_eq!(result.structured.unwrap().get(), r#"{"a":"\ud83d"}"#);
    let asked = r#"{"type":"tool_call_request","id":"c1","name":"\ud83d","args":{"a":"\ud83d"}}"#;
    let GatewayMessage::ToolCallRequest(request) = GatewayMessage::decode(asked).unwrap() else { panic!() };
    assert_eq!((request.name.as_str(), request.args.get()), ("\u{FFFD}", r#"{"a":"\ud83d"}"#));
    let shown = r#"{"type":"chunk","content":"hi \ud83d"}"#;
    assert_eq!(
        GatewayMessage::decode(shown).unwrap().encode(),
        "{\"type\":\"chunk\",\"content\":\"hi \u{FFFD}\"}"
    );
}

#[test]
fn type_and_id_are_found_in_a_frame_that_is_no_json() {
    let found = |text: &str| {
        let UndecodedFrame { kind, id } = UndecodedFrame::find(text);
        (kind.unwrap_or_default(), id.unwrap_or_default())
    };
    let expected = ("tool_result".to_owned(), "c1".to_owned());
    assert_eq!(found(r#"{"type":"tool_result","id":"c1","output":NaN}"#), expected);
    assert_eq!(found(r#"{"output":{"id":"c2"},"id":"c1","type":"tool_result""#), expected);
    let deep = "[".repeat(200);
    assert_eq!(found(&format!(r#"{{"type":"tool_result","id":"c1","structured":{deep}"#)), expected);
    assert_eq!(found("not JSON"), (String::new(), String::new()));
    assert_eq!(UndecodedFrame::find(r#"{"type":"call_tool","id":"1"}"#).answered_call(), None);
}

#[test]
fn every_type_is_listed_once() {
    for types in [ClientMessage::TYPES, GatewayMessage::TYPES] {
        let mut sorted = types.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), types.len());
    }
}

#[test]
fn a_frame_with_very_many_values_is_invalid_json() {
    let with = |numbers: usize| {
        format!(
            r#"{{"type":"call_tool","id":"c","name":"t","args":{{"l":[{}0]}}}}"#,
            "0,".repeat(numbers - 1)
        )
    };
    let error = refused(&with(500_000), error_code::INVALID_JSON);
    assert_eq!(error.to_string(), "the frame is not a JSON object: it has more than 500000 values");
    assert!(ClientMessage::decode(&with(499_000)).is_ok());
}

#[test]
fn the_fast_way_to_the_type_is_only_for_frames_that_have_one_plain_type_first() {
    assert_eq!(leading_tag(r#"{"type":"abort"}"#), Some("abort"));
    // As Python writes it.
    assert_eq!(leading_tag(r#"{"type": "call_tool", "id": "1"}"#), Some("call_tool"));
    for text in [
        // A `type` within a value, and a text that only looks like a member.
        r#"{"type":"register_tools","tools":[{"name":"a","parameters":{"type":"object","type":1}}]}"#,
        r#"{"type":"register_tools","tools":[[{},"type",{"a":1}]],"x":"type"}"#,
        r#"{"type":"register_tools","x":"a\",\"type\":\u0031","y":"\\","tools":[]}"#,
    ] {
        assert_eq!(leading_tag(text), Some("register_tools"), "{text}");
    }
    for text in [
        r#"{"id":"1","type":"abort"}"#,
        r#"{"type":"abort","type":"connect"}"#,
        r#"{"type":"abort","t\u0079pe":"connect"}"#,
        r#"{"type":"abort","x":{"type":[{}]}, "type" :"connect"}"#,
        r#"{"type":"abort","x":"\u0031","y\n":1}"#,
        r#"{"type":"abort","x":"type","y":"\u"#,
        r#"{"type":"ab\u006frt"}"#,
        r#"{"type":7}"#,
        r#"{"type":"abort"#,
        r#" {"type":"abort"}"#,
        "",
    ] {
        assert_eq!(leading_tag(text), None, "{text}");
    }
    assert_eq!(leading_tag(&nested(MAX_DEPTH + 1)), None);
}

#[test]
fn both_ways_to_decode_agree() {
    let members = [
        r#""id":"1""#,
        r#""id":7"#,
        r#""name":"a""#,
        r#""args":{"type":"connect"}"#,
        r#""args":[1,"\ud83d"]"#,
        r#""args":{"a":[{"type":"x"}],"b":"\",\"type\":\u0031"}"#,
        r#""\u0069d":"1""#,
        r#""type":"abort""#,
        r#""output":"x""#,
        r#""x":{"#,
        r#""x":nul"#,
    ];
    for kind in ["call_tool", "cancel_call", "tool_result", "abort", "shout", ""] {
        for first in members {
            for second in members {
                let text = format!(r#"{{"type":"{kind}",{first},{second}}}"#);
                let (fast, slow) = (ClientMessage::decode(&text), ClientMessage::decode_any(&text));
                assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{text}");
            }
        }
    }
}
