use rmcp::model::ErrorCode;
use serde_json::json;

use super::*;

#[test]
fn an_error_comes_back_as_it_was() {
    let error =
        ErrorData::new(ErrorCode(-32021), "no", Some(json!({"requiredCapabilities": {"sampling": {}}})));
    assert_eq!(decode(&encode(&error).unwrap()), Some(error));
}

#[test]
fn a_result_is_no_error() {
    for result in [
        r#"{"content":[]}"#,
        r#"{"toolway/refused":1}"#,
        r#"{"toolway/refused":{"code":1,"message":""},"a":1}"#,
    ] {
        assert_eq!(decode(&RawJson::parse(result).unwrap()), None, "{result}");
    }
}
