use super::*;

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

#[test]
fn reads_all_kinds_of_content_and_keeps_structured_bytes() {
    let output = parse_result(raw(r#"{"resultType":"complete","content":[
            {"type":"text","text":"a \"b\"","annotations":{"priority":1}},
            {"type":"image","data":"AA==","mimeType":"image/png"},
            {"type":"audio","data":"BB==","mimeType":"audio/wav"},
            {"type":"resource","resource":{"uri":"x:y","text":"z"}},
            {"type":"resource_link","uri":"x:y","name":"n"},
            {"type":"hologram","beam":1.0}
        ],"structuredContent":{"z":1.0,"a":1e3}}"#))
    .unwrap()
    .unwrap();
    assert_eq!(output.structured.unwrap().get(), r#"{"z":1.0,"a":1e3}"#);
    assert_eq!(
        output.content,
        [
            ContentPart::text("a \"b\""),
            ContentPart::Image { data: "AA==".to_owned(), mime_type: "image/png".to_owned() },
            ContentPart::Audio { data: "BB==".to_owned(), mime_type: "audio/wav".to_owned() },
            ContentPart::Resource { resource: serde_json::json!({"uri": "x:y", "text": "z"}) },
            ContentPart::ResourceLink {
                uri: "x:y".to_owned(),
                name: "n".to_owned(),
                description: None,
                mime_type: None
            },
            ContentPart::text(r#"{"type":"hologram","beam":1.0}"#),
        ]
    );
}

#[test]
fn an_upstream_failure_stays_a_failure_m13() {
    let error = |text: &str| parse_result(raw(text)).unwrap().unwrap_err();
    let failed =
        error(r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"isError":true}"#);
    assert_eq!(
        (failed.code, failed.message.as_str(), failed.dispatched),
        (Code::ToolFailed, "one\ntwo", true)
    );
    assert_eq!(error(r#"{"content":[],"isError":true}"#).message, "The tool failed without saying why");
    assert_eq!(error(r#"{"structuredContent":{"e":1},"isError":true}"#).message, r#"{"e":1}"#);
    assert!(parse_result(raw(r#"{"content":[],"isError":false}"#)).unwrap().is_ok());
    assert!(parse_result(raw("{}")).unwrap().is_ok(), "some servers leave empty content out");
    assert!(parse_result(raw(r#"{"content":"no"}"#)).is_err());
}
