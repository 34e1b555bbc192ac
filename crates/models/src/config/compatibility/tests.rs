use super::*;

#[test]
fn unset_switches_keep_their_value() {
    let changes: SwitchChanges =
        serde_json::from_str(r#"{"images":true,"tool_choice":"string_only","key_header":"api-key"}"#)
            .unwrap();
    let switches = Switches::careful().with(&changes);
    let key_header = ApiKeyHeader { name: "api-key".parse().unwrap(), bearer: false };
    let expected = Switches {
        images: true,
        tool_choice: ToolChoiceSupport::StringOnly,
        key_header,
        ..Switches::careful()
    };
    assert_eq!(switches, expected);
}

#[test]
fn an_unknown_switch_is_refused() {
    let problem = serde_json::from_str::<SwitchChanges>(r#"{"image":true}"#).unwrap_err().to_string();
    assert!(problem.contains("image") && problem.contains("stream_usage"), "{problem}");
    assert!(serde_json::from_str::<SwitchChanges>(r#"{"key_header":"a b"}"#).is_err());
}

#[test]
fn openai_has_all_features_and_unknown_servers_few() {
    let (openai, other) =
        (Switches::for_kind(ProviderKind::Openai), Switches::for_kind(ProviderKind::Compatible));
    assert!(openai.stream_usage && openai.developer_role && openai.images && !openai.strict);
    assert!(!other.stream_usage && !other.developer_role && !other.images && !other.parallel_tool_calls);
}
