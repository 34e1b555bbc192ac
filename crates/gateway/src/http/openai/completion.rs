//! Chat completions in OpenAI's format.

use serde::Serialize;
use toolway_agent::event::{TurnEnd, TurnEvent};
use toolway_models::{FinishReason, ModelUsage, ToolCall};
use toolway_types::CallId;

/// Maximum length of the thinking in an answer that is not streamed, in bytes. More is left out.
const MAX_THINKING_BYTES: usize = 1 << 20;

/// Fields of every completion and every chunk.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChatCompletionHead {
    pub(super) id: String,
    /// Creation time in seconds since the Unix epoch.
    pub(super) created: i64,
    /// Name of the agent, as the caller wrote it.
    pub(super) model: String,
    #[serde(skip)]
    turn: String,
}

impl ChatCompletionHead {
    pub(super) fn new(turn: &str, model: String, now_ms: i64) -> Self {
        Self {
            id: format!("chatcmpl-{turn}"),
            created: now_ms.div_euclid(1000),
            model,
            turn: turn.to_owned(),
        }
    }
}

/// A complete answer.
#[derive(Debug, Serialize)]
pub(super) struct ChatCompletion<'a> {
    #[serde(flatten)]
    head: &'a ChatCompletionHead,
    object: &'static str,
    choices: [ChatCompletionChoice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<CompletionUsage>,
    toolway: TurnEndExtension<'a>,
}

#[derive(Debug, Serialize)]
struct ChatCompletionChoice<'a> {
    index: u32,
    message: ChatCompletionMessage<'a>,
    logprobs: Option<()>,
    finish_reason: &'static str,
}

#[derive(Debug, Serialize)]
struct ChatCompletionMessage<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reasoning_content: &'a str,
    refusal: Option<()>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatCompletionToolCall<'a>>,
}

/// A call of one of the caller's tools.
#[derive(Debug, Serialize)]
pub(super) struct ChatCompletionToolCall<'a> {
    /// Index of the call in the answer; only in streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    id: CallId,
    #[serde(rename = "type")]
    kind: &'static str,
    function: ChatCompletionFunctionCall<'a>,
}

#[derive(Debug, Serialize)]
struct ChatCompletionFunctionCall<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> ChatCompletionToolCall<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let function = ChatCompletionFunctionCall { name: &call.name, arguments: &call.arguments };
        Self { index: None, id: call.id, kind: "function", function }
    }

    /// Creates a call for a stream, with its index.
    pub(super) fn at_index(index: usize, call: &'a ToolCall) -> Self {
        Self { index: Some(index), ..Self::of(call) }
    }
}

/// Token usage.
#[derive(Debug, Serialize)]
pub(super) struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptTokensDetails>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: Option<CompletionTokensDetails>,
}

#[derive(Debug, Serialize)]
struct PromptTokensDetails {
    cached_tokens: u64,
}

#[derive(Debug, Serialize)]
struct CompletionTokensDetails {
    reasoning_tokens: u64,
}

/// Converts the usage, if the model's provider reports it. Unknown numbers are not estimated.
pub(super) fn completion_usage(usage: ModelUsage) -> Option<CompletionUsage> {
    let (prompt_tokens, completion_tokens) = (usage.input?, usage.output?);
    Some(CompletionUsage {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens.saturating_add(completion_tokens),
        prompt_tokens_details: usage.cached.map(|cached_tokens| PromptTokensDetails { cached_tokens }),
        completion_tokens_details: usage
            .reasoning
            .map(|reasoning_tokens| CompletionTokensDetails { reasoning_tokens }),
    })
}

/// Returns OpenAI's name for the reason why an answer ended.
pub(super) fn finish_reason(end: &TurnEnd) -> &'static str {
    if !end.client_calls.is_empty() {
        return "tool_calls";
    }
    match &end.finish {
        Some(FinishReason::Length | FinishReason::ContextExceeded) => "length",
        Some(FinishReason::Refused) => "content_filter",
        _ => "stop",
    }
}

/// Extension field with further details of a turn.
#[derive(Debug, Serialize)]
pub(super) struct TurnEndExtension<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    /// Id of the turn. Its calls are recorded under this id.
    turn_id: &'a str,
    rounds: u32,
    tool_calls: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<&'a [AgentToolCall]>,
}

impl<'a> TurnEndExtension<'a> {
    /// Creates the last chunk of a stream.
    pub(super) fn for_end(head: &'a ChatCompletionHead, end: &'a TurnEnd) -> Self {
        Self {
            event: Some("done"),
            turn_id: &head.turn,
            rounds: end.rounds,
            tool_calls: end.tool_calls,
            cost: end.cost,
            currency: end.currency.as_deref().filter(|_| end.cost.is_some()),
            calls: None,
        }
    }
}

/// A call of one of the agent's tools.
#[derive(Debug, Serialize)]
struct AgentToolCall {
    id: CallId,
    name: String,
    status: &'static str,
    duration_ms: f64,
}

/// Events of a turn that a complete answer contains beside its text.
#[derive(Debug, Default)]
pub(super) struct CollectedEvents {
    /// The calls of the agent's tools, in the order in which they ended.
    calls: Vec<AgentToolCall>,
    /// Visible thinking of the model.
    thinking: String,
}

impl CollectedEvents {
    pub(super) fn record_event(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::ToolResult { id, name, outcome, duration } => {
                let status = if outcome.is_success() { "success" } else { "error" };
                let duration_ms = duration.as_secs_f64() * 1000.0;
                self.calls.push(AgentToolCall { id: *id, name: name.clone(), status, duration_ms });
            }
            TurnEvent::Thinking(text) if self.thinking.len() < MAX_THINKING_BYTES => {
                self.thinking.push_str(text);
            }
            // The model starts again.
            TurnEvent::ChunkReset => self.thinking.clear(),
            _ => {}
        }
    }
}

impl<'a> ChatCompletion<'a> {
    pub(super) fn new(head: &'a ChatCompletionHead, end: &'a TurnEnd, events: &'a CollectedEvents) -> Self {
        let tool_calls: Vec<_> = end.client_calls.iter().map(ChatCompletionToolCall::of).collect();
        let says_nothing = end.full_response.is_empty() && !tool_calls.is_empty();
        let content = (!says_nothing).then_some(end.full_response.as_str());
        Self {
            head,
            object: "chat.completion",
            choices: [ChatCompletionChoice {
                index: 0,
                message: ChatCompletionMessage {
                    role: "assistant",
                    content,
                    reasoning_content: &events.thinking,
                    refusal: None,
                    tool_calls,
                },
                logprobs: None,
                finish_reason: finish_reason(end),
            }],
            usage: completion_usage(end.usage),
            toolway: TurnEndExtension {
                event: None,
                calls: Some(&events.calls),
                ..TurnEndExtension::for_end(head, end)
            },
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
