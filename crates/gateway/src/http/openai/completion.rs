//! Answers as OpenAI gives them.

use serde::Serialize;
use toolway_agent::event::{TurnEnd, TurnEvent};
use toolway_models::{FinishReason, ModelUsage, ToolCall};
use toolway_types::CallId;

/// What every answer, and every piece of one, has.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChatCompletionHead {
    pub(super) id: String,
    /// Seconds since the Unix epoch.
    pub(super) created: i64,
    /// The agent, as the caller wrote it.
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

/// A whole answer.
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
    refusal: Option<()>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ChatCompletionToolCall<'a>>,
}

/// A call of one of the caller's own tools.
#[derive(Debug, Serialize)]
pub(super) struct ChatCompletionToolCall<'a> {
    /// Its place among those of the answer; only in streams.
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

    /// In a stream, with its place.
    pub(super) fn at_index(index: usize, call: &'a ToolCall) -> Self {
        Self { index: Some(index), ..Self::of(call) }
    }
}

/// What was used.
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

/// What was used, where the model's provider says so: a number that is not known is not made up.
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

/// Why an answer ended, in OpenAI's words.
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

/// What else there is to know of a turn, in a field of our own.
#[derive(Debug, Serialize)]
pub(super) struct TurnEndExtension<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    /// Under which its calls are recorded.
    turn_id: &'a str,
    rounds: u32,
    tool_calls: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Vec<AgentToolCall>>,
}

impl<'a> TurnEndExtension<'a> {
    /// The last piece of a stream.
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

/// A tool of the agent that was called.
#[derive(Debug, Serialize)]
struct AgentToolCall {
    id: CallId,
    name: String,
    status: &'static str,
    duration_ms: f64,
}

/// The tools of the agent that were called, in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct AgentToolCalls(Vec<AgentToolCall>);

impl AgentToolCalls {
    pub(super) fn record_event(&mut self, event: &TurnEvent) {
        if let TurnEvent::ToolResult { id, name, outcome, duration } = event {
            let status = if outcome.is_success() { "success" } else { "error" };
            let duration_ms = duration.as_secs_f64() * 1000.0;
            self.0.push(AgentToolCall { id: *id, name: name.clone(), status, duration_ms });
        }
    }
}

impl<'a> ChatCompletion<'a> {
    pub(super) fn new(head: &'a ChatCompletionHead, end: &'a TurnEnd, calls: AgentToolCalls) -> Self {
        let tool_calls: Vec<_> = end.client_calls.iter().map(ChatCompletionToolCall::of).collect();
        let says_nothing = end.full_response.is_empty() && !tool_calls.is_empty();
        let content = (!says_nothing).then_some(end.full_response.as_str());
        Self {
            head,
            object: "chat.completion",
            choices: [ChatCompletionChoice {
                index: 0,
                message: ChatCompletionMessage { role: "assistant", content, refusal: None, tool_calls },
                logprobs: None,
                finish_reason: finish_reason(end),
            }],
            usage: completion_usage(end.usage),
            toolway: TurnEndExtension {
                event: None,
                calls: Some(calls.0),
                ..TurnEndExtension::for_end(head, end)
            },
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
