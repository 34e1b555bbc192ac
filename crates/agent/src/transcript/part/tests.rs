use super::*;
use proptest::prelude::*;
use serde_json::json;

fn raw(value: Value) -> RawJson {
    RawJson::from(&value)
}

fn id() -> CallId {
    "0198f3a1-0000-7000-8000-00000000000a".parse().unwrap()
}

fn result(outcome: Outcome) -> MessagePart {
    MessagePart::ToolResult(ToolResult::new(id(), "phone__battery".to_owned(), Arc::new(outcome)))
}

fn picture() -> ContentPart {
    ContentPart::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() }
}

#[track_caller]
fn comes_back(parts: &[MessagePart]) -> RawJson {
    let written = encode_parts(parts);
    let expected: Vec<TranscriptPart> = parts.iter().cloned().map(TranscriptPart::Part).collect();
    assert_eq!(decode_parts(&written), expected, "{}", written.get());
    written
}

#[test]
fn parts_have_the_documented_form() {
    let call = ToolCall {
        id: id(),
        name: "phone__battery".to_owned(),
        arguments: r#"{"verbose": tr"#.to_owned(),
        is_cut: true,
        opaque: Some(OpaqueState {
            provider: "gem".into(),
            data: RawJson::parse(r#"{"b":1.0,"a":"x"}"#).unwrap(),
        }),
    };
    let parts = [
        MessagePart::text("Hi"),
        MessagePart::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() },
        MessagePart::Thinking { text: "hm".to_owned(), opaque: None },
        MessagePart::ToolCall(call),
        result(Outcome::Success(ToolOutput::text("87"))),
    ];
    let stored = comes_back(&parts);
    let expected = concat!(
        r#"[{"type":"text","text":"Hi"},"#,
        r#"{"type":"image","data":"aGk=","mimeType":"image/png"},"#,
        r#"{"type":"thinking","text":"hm"},"#,
        r#"{"type":"tool_call","call_id":"0198f3a1-0000-7000-8000-00000000000a","name":"phone__battery","#,
        r#""arguments":"{\"verbose\": tr","truncated":true,"opaque":{"provider":"gem","data":{"b":1.0,"a":"x"}}},"#,
        r#"{"type":"tool_result","call_id":"0198f3a1-0000-7000-8000-00000000000a","name":"phone__battery","#,
        r#""status":"success","result":"87"}]"#,
    );
    assert_eq!(stored.get(), expected);
}

#[test]
fn every_outcome_survives_encoding() {
    let structured = |text: &str, content: Vec<ContentPart>| {
        Outcome::Success(ToolOutput::new(content, Some(RawJson::parse(text).unwrap())))
    };
    let content = |content: Vec<ContentPart>| Outcome::Success(ToolOutput::new(content, None));
    let text = ContentPart::text;
    let error = ToolError::new(Code::Timeout, "too long").with_hint("try later").with_dispatched(true);
    let intent = ToolError {
        authorize_intent: Some(RawJson::parse(r#"{"b":1.50,"a":[]}"#).unwrap()),
        retryable: false,
        ..ToolError::new(Code::AuthRequired, "")
    };
    for (outcome, exact) in [
        (content(vec![text("87")]), false),
        (content(vec![text("")]), false),
        (content(vec![text("a"), picture()]), false),
        (content(vec![picture(), picture()]), false),
        (structured(r#"{"b":1.0,"a":12345678901234567890}"#, vec![]), false),
        (structured("null", vec![picture()]), false),
        (content(vec![]), true),
        (content(vec![text(""), picture()]), true),
        (content(vec![picture(), text("a")]), true),
        (content(vec![text("a"), text("b")]), true),
        (structured(r#""a text""#, vec![]), true),
        (structured("1.00", vec![text("one"), picture(), text("two")]), true),
        (Outcome::Error(error), false),
        (Outcome::Error(intent), false),
    ] {
        let stored = comes_back(&[result(outcome.clone())]);
        assert_eq!(stored.get().contains("\"whole\""), exact, "{}", stored.get());
        // The public form is exactly the envelope.
        let shown = public_parts(&stored)[0].to_value();
        let mut expected = serde_json::to_value(ResultEnvelope(&outcome)).unwrap();
        let fields = expected.as_object_mut().unwrap();
        fields.insert("type".to_owned(), json!("tool_result"));
        fields.insert("call_id".to_owned(), json!(id()));
        fields.insert("name".to_owned(), json!("phone__battery"));
        assert_eq!(shown, expected);
    }
}

#[test]
fn foreign_json_is_kept_byte_for_byte() {
    let odd = r#"{"z":1.0,"a":1e3,"n":12345678901234567890123,"u":"\u00e9"}"#;
    let outcome = Outcome::Success(ToolOutput::structured(RawJson::parse(odd).unwrap()));
    let stored = comes_back(&[result(outcome)]);
    assert!(stored.get().contains(odd));
    assert!(public_parts(&stored)[0].get().contains(odd));
}

#[test]
fn opaque_provider_data_is_not_public() {
    let opaque = Some(OpaqueState { provider: "p".into(), data: raw(json!({"signature": "secret"})) });
    let parts = [
        MessagePart::Text { text: "Hi".to_owned(), opaque: opaque.clone() },
        MessagePart::Thinking { text: String::new(), opaque: opaque.clone() },
        MessagePart::ToolCall(ToolCall {
            id: id(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
            is_cut: false,
            opaque,
        }),
    ];
    let stored = comes_back(&parts);
    assert_eq!(stored.get().matches("secret").count(), 3);
    let newer = raw(json!([{"type": "video", "opaque": "secret", "uri": "u"}]));
    for shown in public_parts(&stored).iter().chain(&public_parts(&newer)) {
        assert!(!shown.get().contains("secret") && !shown.get().contains("opaque"), "{}", shown.get());
    }
    assert_eq!(public_parts(&newer)[0].to_value(), json!({"type": "video", "uri": "u"}));
}

#[test]
fn parts_of_a_newer_version_become_text() {
    let texts = |stored: Value| -> Vec<String> {
        let text = |it: TranscriptPart| match it {
            TranscriptPart::Part(part) => part.as_text().unwrap().to_owned(),
            TranscriptPart::Summary { .. } => panic!("a summary"),
        };
        decode_parts(&raw(stored)).into_iter().map(text).collect()
    };
    assert_eq!(
        texts(json!([{"type": "text", "text": "a"}, {"type": "video", "text": "of a cat", "uri": "u"}])),
        ["a", "[this version of Toolway can't read a part of type \"video\"]\nof a cat"]
    );
    let note = |kind: &str| format!("[this version of Toolway can't read a part of type {kind:?}]");
    for (stored, kind) in [
        (json!([{"text": 5, "type": "text"}]), "text"),
        (json!([{"type": "tool_call", "call_id": "not one", "name": "t", "arguments": "{}"}]), "tool_call"),
        (json!([{"type": "tool_result", "call_id": id(), "name": "t"}]), "tool_result"),
        (json!([{"type": ["text"]}]), "?"),
        (json!([5]), "?"),
        (json!("hello"), "?"),
        (json!(null), "?"),
    ] {
        assert_eq!(texts(stored), [note(kind)]);
    }
    assert_eq!(texts(json!([])), [""; 0]);
    // An error with an unknown code is still an error.
    let newer = raw(json!({"status": "error", "error_type": "x", "code": "gone_fishing", "message": "away"}));
    let Some(Outcome::Error(error)) = outcome_from_envelope(&newer) else { panic!("no error") };
    assert_eq!((error.code, error.message.as_str()), (Code::ToolFailed, "away"));
}

#[test]
fn a_tool_call_stored_by_version_0_1_is_read_and_shown_with_the_new_name() {
    let call =
        r#"{"type":"tool_call","call_id":"0198f3a1-0000-7000-8000-00000000000a","name":"a","arguments":"{","#;
    let stored =
        RawJson::parse(&format!(r#"[{call}"cut":true,"opaque":{{"provider":"p","data":[1.0]}}}}]"#)).unwrap();
    let parts = decode_parts(&stored);
    assert!(matches!(
        &parts[..],
        [TranscriptPart::Part(MessagePart::ToolCall(ToolCall { is_cut: true, .. }))]
    ));
    assert_eq!(public_parts(&stored)[0].get(), format!(r#"{call}"truncated":true}}"#));
}

#[test]
fn a_truncated_record_is_marked() {
    let cut = raw(
        json!({"status": "success", "truncated": true, "kept_bytes": 9, "total_bytes": 5000, "preview": "{\"status\""}),
    );
    let text = "{\"status\"\n[only the start of 5000 bytes was kept]";
    assert_eq!(outcome_from_envelope(&cut), Some(Outcome::Success(ToolOutput::text(text))));
}

#[test]
fn a_summary_differs_from_other_parts() {
    let stored = encode_summary("They talked.", 12, &["phone__scan".to_owned()]);
    assert_eq!(
        stored.get(),
        r#"[{"type":"summary","text":"They talked.","through":12,"tools":["phone__scan"]}]"#
    );
    assert_eq!(
        decode_parts(&stored),
        [TranscriptPart::Summary {
            text: "They talked.".to_owned(),
            through: 12,
            tools: vec!["phone__scan".to_owned()]
        }]
    );
    // The found tools are only for the conversation itself.
    assert_eq!(public_parts(&stored)[0].get(), r#"{"type":"summary","text":"They talked.","through":12}"#);
}

fn contents() -> impl Strategy<Value = ContentPart> {
    prop_oneof![
        any::<String>().prop_map(ContentPart::text),
        (any::<String>(), any::<String>())
            .prop_map(|(data, mime_type)| ContentPart::Image { data, mime_type }),
        any::<String>()
            .prop_map(|text| ContentPart::Resource { resource: json!({"uri": "u", "text": text}) }),
        (any::<String>(), any::<Option<String>>()).prop_map(|(uri, description)| ContentPart::ResourceLink {
            uri,
            name: "n".to_owned(),
            description,
            mime_type: None,
        }),
    ]
}

fn structured() -> impl Strategy<Value = Option<RawJson>> {
    prop_oneof![
        Just(None),
        any::<String>().prop_map(|text| Some(raw(json!(text)))),
        any::<i64>().prop_map(|number| Some(raw(json!({"n": number, "e": "{ }"})))),
        Just(Some(RawJson::null())),
        Just(Some(RawJson::parse("[ 1.0 , 2 ]").unwrap())),
    ]
}

proptest! {
    #[test]
    fn any_output_survives_encoding(content in prop::collection::vec(contents(), 0..4), structured in structured()) {
        let part = result(Outcome::Success(ToolOutput::new(content, structured)));
        let written = encode_parts(std::slice::from_ref(&part));
        prop_assert_eq!(decode_parts(&written), vec![TranscriptPart::Part(part)]);
    }

    #[test]
    fn any_json_is_decoded(text in any::<String>()) {
        if let Ok(stored) = RawJson::parse(&text) {
            let _ = (decode_parts(&stored), public_parts(&stored), outcome_from_envelope(&stored));
        }
    }
}
