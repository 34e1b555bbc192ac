//! What a script says: what a request is answered with, in a form that belongs to no provider. All of it can be
//! written in JSON too, for tests in other languages; field and variant names are those here, in snake case.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::ScriptedFailure;

/// One answer of a model, or a failure in its place.
///
/// ```
/// use serde_json::json;
/// use toolway_fake_models::{ScriptedResponse, ScriptedFinish};
///
/// let says = ScriptedResponse::text("Hello");
/// let calls = ScriptedResponse::new()
///     .thinking("The lamp is in the kitchen.")
///     .text_deltas(["One ", "moment."])
///     .tool_call("lamp__switch", json!({"on": true}))
///     .usage(120, 30);
/// let cut_off = ScriptedResponse::text("Once upon a").finish(ScriptedFinish::Length);
/// let busy = ScriptedResponse::status(429).retry_after(2.0);
/// # let _ = (says, calls, cut_off, busy);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedResponse {
    /// A failure instead of an answer: nothing else is said then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ScriptedFailure>,
    /// A gate before anything is sent, the status line included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// What is said, in order.
    pub steps: Vec<ResponseStep>,
    /// Why it ends; where nothing is said, because of its tool calls or because all is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<ScriptedFinish>,
    /// Tokens to be reported; `null` for a server that reports none.
    pub usage: Option<ScriptedUsage>,
    /// The connection is cut after so many bytes of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_at: Option<usize>,
    /// The body is sent in pieces of so many bytes, wherever that falls: in the middle of a line, of a character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_at_once: Option<usize>,
}

/// One step of an answer. Steps of the same kind that follow each other make up one part, each a delta of it; a change
/// of kind begins the next part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStep {
    /// A delta of text.
    Text(String),
    /// A delta of thinking. Its part is signed, or encrypted, as the API does it. OpenAI's Chat Completions never
    /// show any, so nothing is sent there; Gemini signs the part that follows.
    Thinking(String),
    /// Thinking that the provider keeps to itself: Anthropic's `redacted_thinking`; elsewhere thinking without text.
    HiddenThinking,
    /// A tool call.
    ToolCall(ScriptedToolCall),
    /// Several tool calls whose deltas come together in the same chunks, where the API can do that (Chat Completions:
    /// the first fragments of all in one chunk, then the second ones, …). Elsewhere they come one after the other.
    Together(Vec<ScriptedToolCall>),
    /// A delta of a refusal in the model's words. Where the API has no form for it: text.
    Refusal(String),
    /// So many deltas of text, evenly spaced.
    Tokens(PacedTokens),
    /// Waits until the test opens this gate.
    Gate(String),
    /// Notes the time; see [`FakeModels::marks`](crate::FakeModels::marks). Everything before it has then been handed
    /// to the connection.
    Mark(String),
    /// What keeps a connection awake: a `ping` event, a comment.
    Ping,
    /// An error event in the middle of the stream, which ends it. In a whole answer: a failure in its place.
    Error(ScriptedFailure),
    /// The connection is cut here.
    Cut,
    /// Nothing comes any more, and the connection stays open.
    Silence,
    /// These bytes, as they are.
    Raw(String),
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedToolCall {
    /// The tool's name.
    pub name: String,
    /// Its arguments, where they are sent in one fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Its arguments as JSON text in fragments, instead: whatever the test wants, cut or malformed as well. Gemini
    /// sends arguments whole; what is no JSON object ends its answer with `MALFORMED_FUNCTION_CALL`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fragments: Vec<String>,
    /// The provider's id for it, instead of one made here. Gemini's older models give none: there a call has an id
    /// only where one stands here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Deltas of text, evenly spaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacedTokens {
    /// How many.
    pub count: usize,
    /// How many a second. Each has its time, whether or not earlier ones were read.
    pub per_second: f64,
    /// The text of each. `{micros}` stands for the microseconds since the server's
    /// [`epoch`](crate::FakeModels::epoch) when it was sent, `{n}` for its number from 0.
    #[serde(default = "PacedTokens::plain")]
    pub text: String,
}

/// Why an answer ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedFinish {
    /// All is said.
    Stop,
    /// Tools are to be run.
    ToolCalls,
    /// As many tokens as the request allows.
    Length,
    /// More than the model can read.
    ContextExceeded,
    /// A filter of the provider's, or the model, refused.
    Refused,
    /// The provider pauses a long answer (Anthropic's `pause_turn`).
    Paused,
    /// A tool call in a form that the provider could not read (Gemini).
    MalformedToolCall,
    /// This, word for word.
    Other(String),
}

/// Tokens to be reported. The numbers are those of the internal form: `input` includes `cached` and `cache_written`,
/// `output` includes `reasoning`; each API's own way of counting is made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Of those read, from the provider's cache.
    pub cached: u64,
    /// Of those read, written into the cache (Anthropic).
    pub cache_written: u64,
    /// Of those written, spent on thinking.
    pub reasoning: u64,
}

impl Default for ScriptedUsage {
    fn default() -> Self {
        Self { input: 10, output: 5, cached: 0, cache_written: 0, reasoning: 0 }
    }
}

impl Default for ScriptedResponse {
    fn default() -> Self {
        Self {
            failure: None,
            held_by: None,
            steps: Vec::new(),
            finish: None,
            usage: Some(ScriptedUsage::default()),
            cut_at: None,
            bytes_at_once: None,
        }
    }
}

impl ScriptedResponse {
    /// One that says nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A text, in one delta.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().then(ResponseStep::Text(text.into()))
    }

    /// A failure with this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::from_failure(ScriptedFailure::status(status))
    }

    /// This failure.
    #[must_use]
    pub fn from_failure(failure: ScriptedFailure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// Then this.
    #[must_use]
    pub fn then(mut self, step: ResponseStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Then more text, a delta for each of these.
    #[must_use]
    pub fn text_deltas<T: Into<String>>(mut self, deltas: impl IntoIterator<Item = T>) -> Self {
        self.steps.extend(deltas.into_iter().map(|delta| ResponseStep::Text(delta.into())));
        self
    }

    /// Then a delta of thinking.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.then(ResponseStep::Thinking(text.into()))
    }

    /// Then a call of this tool, its arguments in one fragment.
    #[must_use]
    pub fn tool_call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.then(ResponseStep::ToolCall(ScriptedToolCall::new(name, arguments)))
    }

    /// Then a call of this tool, its arguments in these fragments of JSON text.
    #[must_use]
    pub fn tool_call_in_fragments<T: Into<String>>(
        self,
        name: impl Into<String>,
        fragments: impl IntoIterator<Item = T>,
    ) -> Self {
        let fragments = fragments.into_iter().map(Into::into).collect();
        self.then(ResponseStep::ToolCall(ScriptedToolCall {
            name: name.into(),
            fragments,
            ..ScriptedToolCall::default()
        }))
    }

    /// Then it waits until the test opens this gate.
    #[must_use]
    pub fn gate(self, name: impl Into<String>) -> Self {
        self.then(ResponseStep::Gate(name.into()))
    }

    /// Nothing is sent, not even the status, until the test opens this gate.
    #[must_use]
    pub fn held_by(mut self, gate: impl Into<String>) -> Self {
        self.held_by = Some(gate.into());
        self
    }

    /// Ends for this reason.
    #[must_use]
    pub fn finish(mut self, finish: ScriptedFinish) -> Self {
        self.finish = Some(finish);
        self
    }

    /// Reports these tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(ScriptedUsage { input, output, ..ScriptedUsage::default() });
        self
    }

    /// Reports these tokens.
    #[must_use]
    pub fn full_usage(mut self, usage: ScriptedUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Reports no tokens.
    #[must_use]
    pub fn no_usage(mut self) -> Self {
        self.usage = None;
        self
    }

    /// Asks to wait so long, in seconds, where it is a failure.
    #[must_use]
    pub fn retry_after(mut self, seconds: f64) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.retry_after = Some(seconds);
        }
        self
    }

    /// The connection is cut after so many bytes of the body.
    #[must_use]
    pub fn cut_at(mut self, bytes: usize) -> Self {
        self.cut_at = Some(bytes);
        self
    }

    /// The body comes in pieces of so many bytes.
    #[must_use]
    pub fn bytes_at_once(mut self, bytes: usize) -> Self {
        self.bytes_at_once = Some(bytes);
        self
    }

    /// The tool calls in it.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ScriptedToolCall> {
        self.steps.iter().flat_map(|step| match step {
            ResponseStep::ToolCall(call) => std::slice::from_ref(call),
            ResponseStep::Together(calls) => calls.as_slice(),
            _ => &[],
        })
    }

    /// Why it ends.
    #[must_use]
    pub fn finish_reason(&self) -> ScriptedFinish {
        let usual = || {
            if self.tool_calls().next().is_some() { ScriptedFinish::ToolCalls } else { ScriptedFinish::Stop }
        };
        self.finish.clone().unwrap_or_else(usual)
    }
}

impl ResponseStep {
    pub(crate) fn as_raw(&self) -> Option<&str> {
        match self {
            Self::Raw(text) => Some(text),
            _ => None,
        }
    }
}

impl ScriptedToolCall {
    /// A call with its arguments in one fragment.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self { name: name.into(), arguments: Some(arguments), ..Self::default() }
    }

    /// With the provider's id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Its arguments as they are sent.
    #[must_use]
    pub fn sent_fragments(&self) -> Vec<String> {
        match &self.arguments {
            Some(arguments) if self.fragments.is_empty() => vec![arguments.to_string()],
            _ => self.fragments.clone(),
        }
    }

    /// Its arguments as text.
    #[must_use]
    pub fn text(&self) -> String {
        self.sent_fragments().concat()
    }
}

impl PacedTokens {
    fn plain() -> String {
        "token ".to_owned()
    }
}
