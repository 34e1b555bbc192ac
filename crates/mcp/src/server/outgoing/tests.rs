use rmcp::model::ListRootsRequest;

use super::*;

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn a_response_has_the_clients_own_id_and_the_results_own_bytes() {
    let text = result_message(&raw(r#""é\n1""#), r#"{"b":1.0,"a":1e3}"#);
    assert_eq!(text, r#"{"jsonrpc":"2.0","id":"é\n1","result":{"b":1.0,"a":1e3}}"#);
}

#[test]
fn an_error_without_a_readable_id_has_the_id_null() {
    let error = ErrorData::invalid_request("no", None);
    let text = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
    assert_eq!(error_message(None, &error), text);
}

#[test]
fn a_request_of_the_server_has_its_method_and_parameters() {
    let roots = request(7, &InputRequest::ListRoots(ListRootsRequest::default()));
    let said: Value = serde_json::from_str(&roots).unwrap();
    let params = json!({"_meta": {"progressToken": 7}});
    assert_eq!(said, json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list", "params": params}));
}
