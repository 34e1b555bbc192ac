use serde_json::json;

use super::*;

const LIMIT: usize = 1 << 20;

#[track_caller]
fn request(text: &str) -> IncomingRequest {
    match parse(text.as_bytes(), LIMIT) {
        ParsedText::Message(IncomingMessage::Request(request)) => *request,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_call_keeps_the_bytes_of_its_id_and_arguments() {
    let call = request(
        r#"{"jsonrpc":"2.0","id":"é\n1","method":"tools/call","params":{"name":"a","arguments":{"b":1.0, "a":1e3}}}"#,
    );
    assert_eq!(call.raw_id.get(), r#""é\n1""#);
    assert_eq!(call.params.name.as_deref(), Some("a"));
    assert_eq!(call.params.arguments.unwrap().get(), r#"{"b":1.0, "a":1e3}"#);
}

#[test]
fn a_byte_order_mark_and_whitespace_around_a_message_are_skipped() {
    assert_eq!(request("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n").method, "ping");
    assert!(matches!(parse("\u{feff} \r\n".as_bytes(), LIMIT), ParsedText::Empty));
}

#[test]
fn ids_are_strings_and_whole_numbers() {
    let id = |id: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        matches!(parse(text.as_bytes(), LIMIT), ParsedText::Message(IncomingMessage::Request(_)))
    };
    for fine in ["1", "-7", "\"a\"", "9007199254740993"] {
        assert!(id(fine), "{fine}");
    }
    for other in ["1.5", "null", "[1]", "{}", "true", "99999999999999999999"] {
        assert!(!id(other), "{other}");
    }
}

#[test]
fn an_unknown_field_of_the_message_or_its_parameters_is_ignored() {
    let list =
        request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a","new":[]},"x":1}"#);
    let page: rmcp::model::PaginatedRequestParams = list.params.to().unwrap();
    assert_eq!(page.cursor.as_deref(), Some("a"));
    let none = request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#);
    assert!(none.params.to::<rmcp::model::PaginatedRequestParams>().is_ok());
}

#[test]
fn a_response_has_a_result_or_an_error() {
    let answer = |text: &str| match parse(text.as_bytes(), LIMIT) {
        ParsedText::Message(IncomingMessage::Response(response)) => {
            response.answer.map_err(|error| error.code.0)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#), Ok(json!({"a": 1})));
    assert_eq!(answer(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#), Err(-1));
}

#[test]
fn an_error_repeats_little_of_what_was_sent() {
    let long = "x".repeat(1 << 19);
    let text =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"cursor":{{"{long}":1}}}}}}"#);
    let error = request(&text).params.to::<rmcp::model::PaginatedRequestParams>().unwrap_err();
    assert_eq!(error.code.0, -32602);
    assert!(error.message.len() < 500, "{}", error.message.len());
}

#[test]
fn an_error_repeats_only_a_part_of_a_clients_text() {
    let long = "é".repeat(1_000_000);
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":"{long}"}}}}"#);
    let ParsedText::Invalid(invalid) = parse(text.as_bytes(), 8 << 20) else { panic!() };
    assert!(invalid.error.message.contains("éé") && invalid.error.message.len() < 400);
}
