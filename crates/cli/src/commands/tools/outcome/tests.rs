use super::*;

#[test]
fn success_and_error_are_parsed() {
    let success = r#"{"call_id":"x","duration_ms":1.5,"status":"success","result":{"a":1.0}}"#;
    let found: CallToolResponse = parse_response(success).unwrap();
    assert!(found.is_success());
    assert_eq!(found.result.unwrap().get(), r#"{"a":1.0}"#);
    let error = r#"{"call_id":"x","duration_ms":1.5,"status":"error","error_type":"timeout","message":"m","code":"no_progress","dispatched":true,"retryable":true}"#;
    let found: CallToolResponse = parse_response(error).unwrap();
    assert!(!found.is_success());
    assert_eq!((found.code.as_deref(), found.dispatched), (Some("no_progress"), Some(true)));
    assert!(parse_response::<CallToolResponse>("{}").is_err());
}

#[test]
fn an_error_points_to_the_record_if_there_is_one() {
    let error = r#"{"call_id":"c1","status":"error","error_type":"execution_error","message":"m","code":"tool_failed"}"#;
    let said = |recorded| outcome_error(parse_response(error).unwrap(), recorded).render_text(false);
    assert_eq!(
        said(RecordLocation::GatewayRecord),
        "error: m (tool_failed)\nhint: see the call with `toolway calls show c1`\n"
    );
    assert_eq!(said(RecordLocation::Nowhere), "error: m (tool_failed)\n");
}

#[test]
fn parts_that_are_not_text_are_described() {
    let image = ContentPart::Image { data: "A".repeat(4096), mime_type: "image/png".to_owned() };
    assert_eq!(describe_content(&image), "[image, image/png, 3 KiB; use --json for the data]");
    let resource = ContentPart::Resource { resource: serde_json::json!({"uri": "file:///x"}) };
    assert_eq!(describe_content(&resource), "[resource, file:///x; use --json for the data]");
}
