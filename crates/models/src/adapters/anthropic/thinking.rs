//! Thinking in requests. Combinations that the API refuses are not sent.

use http::HeaderName;
use serde_json::{Map, Value, json};

use super::capabilities::{self, ClaudeCapabilities, ThinkingOffMode, ThinkingSupport};
use super::output::OutputConstraint;
use crate::config::ProviderConfig;
use crate::message::{MessagePart, MessageRole};
use crate::request::{ModelRequest, ReasoningEffort, ToolChoice};

/// Header that enables beta features.
pub(super) const BETA_HEADER: HeaderName = HeaderName::from_static("anthropic-beta");
/// Lets a request say what becomes of thinking that no longer fits the conversation before it.
const THINKING_BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";
/// The least budget.
const MIN_BUDGET_TOKENS: u64 = 1_024;

/// Parameters about thinking.
#[derive(Debug, Default)]
pub(super) struct ThinkingParams {
    pub(super) thinking: Option<Value>,
    pub(super) effort: Option<&'static str>,
    /// The model may think. `temperature` and `top_p` are refused then.
    pub(super) is_enabled: bool,
    /// Maximum number of tokens with room for thinking.
    pub(super) max_tokens: u64,
}

/// Chooses the parameters for a request.
pub(super) fn for_request(
    config: &ProviderConfig,
    request: &ModelRequest,
    output: &OutputConstraint,
) -> ThinkingParams {
    let generation = capabilities::for_model(&request.model);
    let effort = request.options.reasoning;
    let max_tokens = request.options.max_output_tokens.unwrap_or(generation.default_max_tokens);
    let nothing = ThinkingParams { max_tokens, ..ThinkingParams::default() };
    let is_forced = generation.takes_forced_tool_choice
        && (matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_))
            || output.forces_a_tool());
    match (generation.thinking, effort) {
        (ThinkingSupport::Never, _) => nothing,
        (ThinkingSupport::Budget, None | Some(ReasoningEffort::None)) => nothing,
        (ThinkingSupport::Budget, Some(effort)) => {
            if is_forced || is_mid_turn_without_thinking(config, request) {
                return nothing;
            }
            budget_thinking(request, effort, max_tokens).unwrap_or(nothing)
        }
        (ThinkingSupport::Adaptive, None | Some(ReasoningEffort::None)) => nothing,
        // Not together with a forced call.
        (ThinkingSupport::Adaptive, Some(_)) if is_forced => nothing,
        (ThinkingSupport::Always, None)
            if is_forced && generation.thinking_off == ThinkingOffMode::Disabled =>
        {
            disabled_thinking(generation, max_tokens)
        }
        (ThinkingSupport::Always, Some(_)) if is_forced => disabled_thinking(generation, max_tokens),
        (ThinkingSupport::Always, Some(ReasoningEffort::None)) => disabled_thinking(generation, max_tokens),
        (ThinkingSupport::Adaptive | ThinkingSupport::Always, effort) => {
            let effort = effort.map(effort_name);
            ThinkingParams {
                thinking: Some(adaptive_thinking(config, generation)),
                effort,
                is_enabled: true,
                max_tokens,
            }
        }
    }
}

/// The header that the request's thinking needs.
pub(super) fn beta_header(config: &ProviderConfig, request: &ModelRequest) -> Option<&'static str> {
    let thinking = for_request(config, request, &OutputConstraint::for_request(request)).thinking?;
    thinking.get("block_binding").is_some().then_some(THINKING_BINDING_BETA)
}

fn adaptive_thinking(config: &ProviderConfig, generation: ClaudeCapabilities) -> Value {
    let mut thinking = Map::new();
    thinking.insert("type".to_owned(), json!("adaptive"));
    // Newer models keep their thoughts to themselves otherwise.
    thinking.insert("display".to_owned(), json!("summarized"));
    // Tools come and go between requests, and old results are shortened; without this the API refuses what the model
    // thought before, and with it the conversation.
    if generation.binds_thinking && may_send_beta(config) {
        thinking.insert("block_binding".to_owned(), json!({"prefix_mismatch_behavior": "drop_block"}));
    }
    Value::Object(thinking)
}

/// Returns whether the beta header can be sent: the owner has not configured a header of the same name.
fn may_send_beta(config: &ProviderConfig) -> bool {
    !config.headers.contains_key(&BETA_HEADER)
}

fn disabled_thinking(generation: ClaudeCapabilities, max_tokens: u64) -> ThinkingParams {
    let (thinking, effort) = match generation.thinking_off {
        ThinkingOffMode::Omitted => (None, None),
        ThinkingOffMode::Disabled => (Some(json!({"type": "disabled"})), None),
        ThinkingOffMode::BetweenTools => (Some(json!({"type": "between_tools"})), None),
        ThinkingOffMode::LowEffort => (None, Some("low")),
    };
    ThinkingParams {
        thinking,
        effort,
        is_enabled: matches!(
            generation.thinking_off,
            ThinkingOffMode::BetweenTools | ThinkingOffMode::LowEffort
        ),
        max_tokens,
    }
}

fn budget_thinking(
    request: &ModelRequest,
    effort: ReasoningEffort,
    max_tokens: u64,
) -> Option<ThinkingParams> {
    let wanted = match effort {
        ReasoningEffort::None => return None,
        ReasoningEffort::Low => 2_048,
        ReasoningEffort::Medium => 8_192,
        ReasoningEffort::High => 16_384,
    };
    // What the owner allows is for thinking and answer together.
    let (budget, max_tokens) = match request.options.max_output_tokens {
        Some(most) => (wanted.min(most / 2), most),
        None => (wanted, max_tokens + wanted),
    };
    if budget < MIN_BUDGET_TOKENS {
        return None;
    }
    let thinking = json!({"type": "enabled", "budget_tokens": budget});
    Some(ThinkingParams { thinking: Some(thinking), effort: None, is_enabled: true, max_tokens })
}

/// Returns whether the current turn has calls without thinking of this model before them. With a thinking budget the
/// API accepts such a turn only without thinking.
fn is_mid_turn_without_thinking(config: &ProviderConfig, request: &ModelRequest) -> bool {
    let last = request.messages.iter().rposition(|message| message.role == MessageRole::User);
    let turn = request.messages.get(last.map_or(0, |at| at + 1)..).unwrap_or_default();
    turn.iter().filter(|message| message.role == MessageRole::Assistant).any(|message| {
        let first = message.parts.iter().find(|part| super::history::is_sent(part, config, request));
        message.tool_calls().next().is_some() && !matches!(first, Some(MessagePart::Thinking { .. }))
    })
}

fn effort_name(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

#[cfg(test)]
mod tests;
