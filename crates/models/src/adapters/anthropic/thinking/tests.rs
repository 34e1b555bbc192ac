use std::sync::Arc;

use toolway_types::{CallId, RawJson};

use super::*;
use crate::message::{ModelMessage, OpaqueState, ToolCall};
use crate::provider_kind::ProviderKind;
use crate::request::ModelOptions;
use crate::tools::ToolSet;

fn config() -> ProviderConfig {
    ProviderConfig::new("mine", ProviderKind::Anthropic, "http://localhost".parse().unwrap())
}

fn request(model: &str, reasoning: Option<ReasoningEffort>) -> ModelRequest {
    ModelRequest {
        model: model.into(),
        system: String::new(),
        messages: vec![ModelMessage::user("Hi")],
        tools: Arc::new(ToolSet::default()),
        tool_choice: ToolChoice::Auto,
        output: None,
        options: ModelOptions { reasoning, ..ModelOptions::default() },
    }
}

fn thinking(request: &ModelRequest) -> (Option<Value>, Option<&'static str>) {
    let thinking = for_request(&config(), request, &OutputConstraint::for_request(request));
    (thinking.thinking, thinking.effort)
}

#[test]
fn effort_is_configured_for_each_generation() {
    use ReasoningEffort::{High, Low, Medium};
    let none = Some(ReasoningEffort::None);
    let shown = json!({"type": "adaptive", "display": "summarized"});
    let bound = json!({
        "type": "adaptive", "display": "summarized", "block_binding": {"prefix_mismatch_behavior": "drop_block"}
    });
    let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    for (model, effort, expected) in [
        ("claude-3-haiku-20240307", Some(High), (None, None)),
        ("claude-sonnet-4-5", None, (None, None)),
        ("claude-sonnet-4-5", none, (None, None)),
        ("claude-sonnet-4-5", Some(Low), (Some(budget(2_048)), None)),
        ("claude-sonnet-4-5", Some(High), (Some(budget(16_384)), None)),
        ("claude-opus-4-7", None, (None, None)),
        ("claude-opus-4-7", Some(Medium), (Some(shown.clone()), Some("medium"))),
        ("claude-sonnet-5", None, (Some(shown), None)),
        ("claude-sonnet-5", none, (Some(json!({"type": "disabled"})), None)),
        ("claude-sonnet-5-5", none, (Some(json!({"type": "between_tools"})), None)),
        ("claude-opus-5-5", none, (None, Some("low"))),
        ("claude-opus-5-5", Some(High), (Some(bound.clone()), Some("high"))),
        ("claude-haiku-5-5", None, (Some(bound), None)),
    ] {
        assert_eq!(thinking(&request(model, effort)), expected, "{model} {effort:?}");
    }
}

#[test]
fn a_thinking_budget_leaves_room_for_the_response() {
    let asked = |most: Option<u64>| {
        let mut request = request("claude-sonnet-4-5", Some(ReasoningEffort::Medium));
        request.options.max_output_tokens = most;
        let thinking = for_request(&config(), &request, &OutputConstraint::Unconstrained);
        (thinking.thinking.map(|of| of["budget_tokens"].as_u64().unwrap()), thinking.max_tokens)
    };
    assert_eq!(asked(None), (Some(8_192), 16_000 + 8_192));
    assert_eq!(asked(Some(40_000)), (Some(8_192), 40_000));
    assert_eq!(asked(Some(6_000)), (Some(3_000), 6_000));
    // Less than the least is none.
    assert_eq!(asked(Some(2_000)), (None, 2_000));
}

#[test]
fn options_that_the_api_refuses_together_are_not_sent_together() {
    let forced = |model: &str| {
        let tool_choice = ToolChoice::Required;
        thinking(&ModelRequest { tool_choice, ..request(model, Some(ReasoningEffort::High)) })
    };
    assert_eq!(forced("claude-sonnet-4-5"), (None, None));
    assert_eq!(forced("claude-opus-4-7"), (None, None));
    assert_eq!(forced("claude-sonnet-5"), (Some(json!({"type": "disabled"})), None));
    // These can't be forced: it is a wish, and they think.
    assert_eq!(forced("claude-opus-5-5").1, Some("high"));
}

#[test]
fn a_turn_that_started_without_thinking_continues_without_it_m8() {
    let call = MessagePart::ToolCall(ToolCall {
        id: CallId::new(),
        name: "t".to_owned(),
        arguments: "{}".to_owned(),
        is_cut: false,
        opaque: None,
    });
    let thought = |provider: &str| MessagePart::Thinking {
        text: "Hm".to_owned(),
        opaque: Some(OpaqueState {
            provider: provider.into(),
            data: RawJson::parse(r#"{"model":"claude-sonnet-4-5","signature":"s"}"#).unwrap(),
        }),
    };
    let asked = |model: &str, parts: Vec<MessagePart>| {
        let mut request = request(model, Some(ReasoningEffort::Low));
        request.messages.push(ModelMessage { role: MessageRole::Assistant, parts });
        thinking(&request).0.is_some()
    };
    assert!(!asked("claude-sonnet-4-5", vec![call.clone()]));
    assert!(!asked("claude-sonnet-4-5", vec![thought("other"), call.clone()]));
    assert!(asked("claude-sonnet-4-5", vec![thought("mine"), call.clone()]));
    // Without a budget it does not matter.
    assert!(asked("claude-opus-4-7", vec![call.clone()]));
    // Nor does it in a turn that is over.
    let mut over = request("claude-sonnet-4-5", Some(ReasoningEffort::Low));
    over.messages.push(ModelMessage { role: MessageRole::Assistant, parts: vec![call] });
    over.messages.push(ModelMessage::user("And now?"));
    assert!(thinking(&over).0.is_some());
}

#[test]
fn the_beta_header_is_sent_only_if_needed() {
    let asked = request("claude-opus-5-5", None);
    assert_eq!(beta_header(&config(), &asked), Some(THINKING_BINDING_BETA));
    assert_eq!(beta_header(&config(), &request("claude-sonnet-5", None)), None);
    // An owner's own header stays as it is.
    let mut own = config();
    own.headers.insert(BETA_HEADER, "mine-2026".parse().unwrap());
    assert_eq!(beta_header(&own, &asked), None);
    assert_eq!(
        for_request(&own, &asked, &OutputConstraint::Unconstrained).thinking,
        Some(json!({"type": "adaptive", "display": "summarized"}))
    );
}
