use serde_json::{Value, json};
use toolway_types::{Code, ContentPart, Outcome, RawJson, ToolError, ToolOutput};

use super::*;

const SERVER: &str = r#"{"name":"toolway","version":"1"}"#;
const MODERN: ToolResultFormat<'_> = ToolResultFormat { is_modern: true, server_info_json: SERVER };
const OLDER: ToolResultFormat<'_> = ToolResultFormat { is_modern: false, server_info_json: SERVER };

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

/// What the client reads.
#[track_caller]
fn read(mut outcome: Outcome, original: Option<&str>, form: ToolResultFormat<'_>) -> String {
    match &mut outcome {
        Outcome::Success(output) => output.original = original.map(raw),
        Outcome::Error(error) => {
            error.original = original.map(|original| Box::new(OriginalError::Result(raw(original))));
        }
    }
    render_outcome(&outcome, form)
}

#[test]
fn an_older_client_gets_text_and_an_object_as_they_were_written() {
    let output = ToolOutput::new(vec![ContentPart::text("hi")], Some(raw(r#"{"b":1.0,"a":1e3}"#)));
    let expected =
        r#"{"content":[{"type":"text","text":"hi"}],"structuredContent":{"b":1.0,"a":1e3},"isError":false}"#;
    assert_eq!(read(Outcome::Success(output), None, OLDER), expected);
}

#[test]
fn a_newer_client_is_told_what_it_is_and_who_gave_it() {
    let expected = r#"{"resultType":"complete","content":[{"type":"text","text":"hi"}],"isError":false,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolway","version":"1"}}}"#;
    assert_eq!(read(Outcome::Success(ToolOutput::text("hi")), None, MODERN), expected);
}

#[test]
fn a_value_without_text_is_text_too_and_for_older_clients_only_text_unless_an_object() {
    let list = || Outcome::Success(ToolOutput::structured(raw("[1, 2]")));
    let older: Value = serde_json::from_str(&read(list(), None, OLDER)).unwrap();
    assert_eq!(older, json!({"content": [{"type": "text", "text": "[1, 2]"}], "isError": false}));
    let newer: Value = serde_json::from_str(&read(list(), None, MODERN)).unwrap();
    assert_eq!(newer["structuredContent"], json!([1, 2]));
}

#[test]
fn a_failure_uses_the_envelope_text_and_images_stay_images_m13() {
    let failed = Outcome::Error(ToolError::new(Code::FileNotFound, "File not found: x"));
    let result: Value = serde_json::from_str(&read(failed, None, OLDER)).unwrap();
    assert_eq!(result["isError"], true);
    let envelope: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(envelope["status"], "error");
    assert_eq!(envelope["error_type"], "execution_error");
    assert_eq!(envelope["message"], "File not found: x");
    let picture = ContentPart::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() };
    let output = ToolOutput::new(vec![picture], None);
    let result: Value = serde_json::from_str(&read(Outcome::Success(output), None, OLDER)).unwrap();
    assert_eq!(result["content"][0], json!({"type": "image", "data": "AA==", "mimeType": "image/png"}));
}

#[test]
fn an_upstreams_own_result_stays_as_it_was_written() {
    let own = r#"{"isError":true,"content":[{"text":"no","type":"text","annotations":{"priority":0.50}}],"x":1E2,"_meta":{"a":1}}"#;
    let outcome = || Outcome::Error(ToolError::new(Code::ToolFailed, "no"));
    assert_eq!(read(outcome(), Some(own), OLDER), own);
    let expected = r#"{"resultType":"complete","isError":true,"content":[{"text":"no","type":"text","annotations":{"priority":0.50}}],"x":1E2,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"toolway","version":"1"},"a":1}}"#;
    assert_eq!(read(outcome(), Some(own), MODERN), expected);
}

#[test]
fn what_an_upstreams_version_has_and_the_clients_has_not_is_bridged() {
    let newer = r#"{"resultType":"complete","content":[],"structuredContent":[1],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u","version":"2"}}}"#;
    let outcome = || Outcome::Success(ToolOutput::default());
    let older = r#"{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"u","version":"2"}}}"#;
    assert_eq!(read(outcome(), Some(newer), OLDER), older);
    assert_eq!(read(outcome(), Some(newer), MODERN), newer);
    assert_eq!(read(outcome(), Some("{}"), OLDER), r#"{"content":[]}"#);
}

#[test]
fn a_json_rpc_error_of_an_upstream_keeps_its_code_message_and_data() {
    let data = json!({"requiredCapabilities": {"sampling": {}}});
    let said = JsonRpcError { code: -32021, message: "no".to_owned(), data: Some(data.clone()) };
    let error = ToolError::new(Code::ToolFailed, "no (MCP error -32021)");
    let outcome = Outcome::Error(error.clone().with_original(OriginalError::JsonRpc(said)));
    assert_eq!(rpc_error(&outcome), Some(ErrorData::new(ErrorCode(-32021), "no", Some(data))));
    assert_eq!(rpc_error(&Outcome::Error(error)), None);
}

#[test]
fn a_result_that_looks_like_an_error_stays_a_result() {
    let own = r#"{"toolway/refused":{"code":-32000,"message":"no"}}"#;
    let output = ToolOutput { original: Some(raw(own)), ..ToolOutput::default() };
    assert_eq!(rpc_error(&Outcome::Success(output.clone())), None);
    let expected = r#"{"toolway/refused":{"code":-32000,"message":"no"},"content":[]}"#;
    assert_eq!(render_outcome(&Outcome::Success(output), OLDER), expected);
}
