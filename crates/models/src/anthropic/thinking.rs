//! How a model is told to think, and when it can't be: what the API refuses together is not sent together.

use http::HeaderName;
use serde_json::{Map, Value, json};

use super::generation::{self, Generation, Off, Thinks};
use super::output::Output;
use crate::config::ProviderConfig;
use crate::message::{MessageRole, Part};
use crate::request::{ModelRequest, ReasoningEffort, ToolChoice};

/// The header that names what is not yet for everybody.
pub(super) const BETA: HeaderName = HeaderName::from_static("anthropic-beta");
/// Lets a request say what becomes of thinking that no longer fits the conversation before it.
const BINDING: &str = "thinking-binding-controls-2026-08-01";
/// The least budget.
const LEAST: u64 = 1_024;

/// What is said about thinking in a request.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    pub(super) thinking: Option<Value>,
    pub(super) effort: Option<&'static str>,
    /// Whether the model may think, so that `temperature` and `top_p` are not taken.
    pub(super) thinks: bool,
    /// Most tokens, where room for thinking was added.
    pub(super) max_tokens: u64,
}

/// What is said about thinking in a request.
pub(super) fn of(config: &ProviderConfig, request: &ModelRequest, output: &Output) -> Thinking {
    let generation = generation::of(&request.model);
    let effort = request.options.reasoning;
    let max_tokens = request.options.max_output_tokens.unwrap_or(generation.tokens);
    let nothing = Thinking { max_tokens, ..Thinking::default() };
    let is_forced = generation.forced
        && (matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_))
            || output.forces_a_tool());
    match (generation.thinks, effort) {
        (Thinks::Never, _) => nothing,
        (Thinks::Budget, None | Some(ReasoningEffort::None)) => nothing,
        (Thinks::Budget, Some(effort)) => {
            if is_forced || is_in_mid_turn_without_thinking(config, request) {
                return nothing;
            }
            budget(request, effort, max_tokens).unwrap_or(nothing)
        }
        (Thinks::Adaptive, None | Some(ReasoningEffort::None)) => nothing,
        // Not together with a forced call.
        (Thinks::Adaptive, Some(_)) if is_forced => nothing,
        (Thinks::Always, None) if is_forced && generation.off == Off::Disabled => off(generation, max_tokens),
        (Thinks::Always, Some(_)) if is_forced => off(generation, max_tokens),
        (Thinks::Always, Some(ReasoningEffort::None)) => off(generation, max_tokens),
        (Thinks::Adaptive | Thinks::Always, effort) => {
            let effort = effort.map(word);
            Thinking { thinking: Some(adaptive(config, generation)), effort, thinks: true, max_tokens }
        }
    }
}

/// The header that the request's thinking needs.
pub(super) fn beta(config: &ProviderConfig, request: &ModelRequest) -> Option<&'static str> {
    let thinking = of(config, request, &Output::of(request)).thinking?;
    thinking.get("block_binding").is_some().then_some(BINDING)
}

fn adaptive(config: &ProviderConfig, generation: Generation) -> Value {
    let mut thinking = Map::new();
    thinking.insert("type".to_owned(), json!("adaptive"));
    // Newer models keep their thoughts to themselves otherwise.
    thinking.insert("display".to_owned(), json!("summarized"));
    // Tools come and go between requests, and old results are shortened; without this the API refuses what the model
    // thought before, and with it the conversation.
    if generation.binds && may_send_beta(config) {
        thinking.insert("block_binding".to_owned(), json!({"prefix_mismatch_behavior": "drop_block"}));
    }
    Value::Object(thinking)
}

/// Whether the owner's own header leaves room for ours.
fn may_send_beta(config: &ProviderConfig) -> bool {
    !config.headers.contains_key(&BETA)
}

fn off(generation: Generation, max_tokens: u64) -> Thinking {
    let (thinking, effort) = match generation.off {
        Off::Unsaid => (None, None),
        Off::Disabled => (Some(json!({"type": "disabled"})), None),
        Off::BetweenTools => (Some(json!({"type": "between_tools"})), None),
        Off::LittleEffort => (None, Some("low")),
    };
    Thinking {
        thinking,
        effort,
        thinks: matches!(generation.off, Off::BetweenTools | Off::LittleEffort),
        max_tokens,
    }
}

fn budget(request: &ModelRequest, effort: ReasoningEffort, max_tokens: u64) -> Option<Thinking> {
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
    if budget < LEAST {
        return None;
    }
    let thinking = json!({"type": "enabled", "budget_tokens": budget});
    Some(Thinking { thinking: Some(thinking), effort: None, thinks: true, max_tokens })
}

/// Whether the turn that is under way has calls that no thinking of this model stands before. With a budget the API
/// takes such a turn only if it does not think.
fn is_in_mid_turn_without_thinking(config: &ProviderConfig, request: &ModelRequest) -> bool {
    let last = request.messages.iter().rposition(|message| message.role == MessageRole::User);
    let turn = request.messages.get(last.map_or(0, |at| at + 1)..).unwrap_or_default();
    turn.iter().filter(|message| message.role == MessageRole::Assistant).any(|message| {
        let first = message.parts.iter().find(|part| super::history::is_sent(part, config, request));
        message.tool_calls().next().is_some() && !matches!(first, Some(Part::Thinking { .. }))
    })
}

fn word(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

#[cfg(test)]
mod tests;
