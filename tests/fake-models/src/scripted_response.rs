//! Scripted answers in a provider-independent form. All of it can also be written in JSON, for tests in other
//! languages, with the same names in snake case.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::ScriptedFailure;

/// An answer of a model, or a failure instead.
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
    /// A failure instead of an answer; other fields are ignored then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ScriptedFailure>,
    /// A gate before anything is sent, including the status line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// Steps of the answer, in order.
    pub steps: Vec<ResponseStep>,
    /// Finish reason; by default tool calls if there are any, otherwise stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<ScriptedFinish>,
    /// Reported tokens; `null` for a server that reports none.
    pub usage: Option<ScriptedUsage>,
    /// Number of bytes of the body after which the connection is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_at: Option<usize>,
    /// Size of the pieces in which the body is sent, at any position: even within a line or a character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_at_once: Option<usize>,
}

/// A step of an answer. Consecutive steps of the same kind are deltas of one part; a different kind starts
/// the next part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStep {
    /// A delta of text.
    Text(String),
    /// A delta of thinking. Its part is signed or encrypted as in the API. OpenAI's Chat Completions never
    /// contain thinking, so nothing is sent there; Gemini signs the part that follows.
    Thinking(String),
    /// Thinking without readable text: Anthropic's `redacted_thinking`; elsewhere thinking with an empty
    /// text.
    HiddenThinking,
    /// A tool call.
    ToolCall(ScriptedToolCall),
    /// Several tool calls whose deltas are in the same chunks, if the API supports it (Chat Completions: the
    /// first fragments of all in one chunk, then the second ones, …). Otherwise they follow each other.
    Together(Vec<ScriptedToolCall>),
    /// A delta of a refusal in the model's words. Text if the API has no form for it.
    Refusal(String),
    /// Evenly spaced deltas of text.
    Tokens(PacedTokens),
    /// Waits until the test opens this gate.
    Gate(String),
    /// Records the time; see [`FakeModels::marks`](crate::FakeModels::marks). Everything before it has been
    /// passed to the connection by then.
    Mark(String),
    /// A keep-alive: a `ping` event or a comment.
    Ping,
    /// An error event that ends the stream. In a whole answer: a failure instead of it.
    Error(ScriptedFailure),
    /// Cuts the connection.
    Cut,
    /// Sends nothing more, and keeps the connection open.
    Silence,
    /// Sends these bytes unchanged.
    Raw(String),
}

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedToolCall {
    /// Name of the tool.
    pub name: String,
    /// Arguments to send in one fragment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Arguments as fragments of JSON text instead, which may be incomplete or malformed. Gemini sends
    /// arguments in one piece; other values than a JSON object end its answer with `MALFORMED_FUNCTION_CALL`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fragments: Vec<String>,
    /// Id of the provider instead of a generated one. Gemini's older models have none: there a call has an id
    /// only if it is set here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Evenly spaced deltas of text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacedTokens {
    /// Number of deltas.
    pub count: usize,
    /// Deltas per second. Each is sent at its time, even if earlier ones were not read.
    pub per_second: f64,
    /// Text of each delta. `{micros}` is the time of sending in microseconds since the server's
    /// [`epoch`](crate::FakeModels::epoch), `{n}` the number from 0.
    #[serde(default = "PacedTokens::plain")]
    pub text: String,
}

/// Finish reason of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptedFinish {
    /// The answer is complete.
    Stop,
    /// Tools must be run.
    ToolCalls,
    /// The maximum number of tokens is reached.
    Length,
    /// The model's context is exceeded.
    ContextExceeded,
    /// The provider's filter, or the model, refused.
    Refused,
    /// The provider pauses a long answer (Anthropic's `pause_turn`).
    Paused,
    /// The provider could not parse a tool call (Gemini).
    MalformedToolCall,
    /// Another reason, word for word.
    Other(String),
}

/// Reported tokens in the internal form: `input` includes `cached` and `cache_written`, `output` includes
/// `reasoning`. They are converted to each API's own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptedUsage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cached: u64,
    /// Input tokens written into the cache (Anthropic).
    pub cache_written: u64,
    /// Output tokens spent on thinking.
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
    /// Creates an answer without steps.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an answer with a text in one delta.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().then(ResponseStep::Text(text.into()))
    }

    /// Creates a failure with this status.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::from_failure(ScriptedFailure::status(status))
    }

    /// Creates an answer with this failure.
    #[must_use]
    pub fn from_failure(failure: ScriptedFailure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: ResponseStep) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds text, one delta for each of these.
    #[must_use]
    pub fn text_deltas<T: Into<String>>(mut self, deltas: impl IntoIterator<Item = T>) -> Self {
        self.steps.extend(deltas.into_iter().map(|delta| ResponseStep::Text(delta.into())));
        self
    }

    /// Adds a delta of thinking.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.then(ResponseStep::Thinking(text.into()))
    }

    /// Adds a call of this tool, with the arguments in one fragment.
    #[must_use]
    pub fn tool_call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.then(ResponseStep::ToolCall(ScriptedToolCall::new(name, arguments)))
    }

    /// Adds a call of this tool, with the arguments in these fragments of JSON text.
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

    /// Adds a gate.
    #[must_use]
    pub fn gate(self, name: impl Into<String>) -> Self {
        self.then(ResponseStep::Gate(name.into()))
    }

    /// Sends nothing, not even the status, until the test opens this gate.
    #[must_use]
    pub fn held_by(mut self, gate: impl Into<String>) -> Self {
        self.held_by = Some(gate.into());
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn finish(mut self, finish: ScriptedFinish) -> Self {
        self.finish = Some(finish);
        self
    }

    /// Sets the reported tokens.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(ScriptedUsage { input, output, ..ScriptedUsage::default() });
        self
    }

    /// Sets all reported tokens.
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

    /// Sets the retry delay of a failure, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: f64) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.retry_after = Some(seconds);
        }
        self
    }

    /// Cuts the connection after this number of bytes of the body.
    #[must_use]
    pub fn cut_at(mut self, bytes: usize) -> Self {
        self.cut_at = Some(bytes);
        self
    }

    /// Sends the body in pieces of this number of bytes.
    #[must_use]
    pub fn bytes_at_once(mut self, bytes: usize) -> Self {
        self.bytes_at_once = Some(bytes);
        self
    }

    /// Returns the tool calls in the answer.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ScriptedToolCall> {
        self.steps.iter().flat_map(|step| match step {
            ResponseStep::ToolCall(call) => std::slice::from_ref(call),
            ResponseStep::Together(calls) => calls.as_slice(),
            _ => &[],
        })
    }

    /// Returns the finish reason.
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
    /// Creates a call with its arguments in one fragment.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self { name: name.into(), arguments: Some(arguments), ..Self::default() }
    }

    /// Sets the provider's id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Returns the fragments of the arguments.
    #[must_use]
    pub fn sent_fragments(&self) -> Vec<String> {
        match &self.arguments {
            Some(arguments) if self.fragments.is_empty() => vec![arguments.to_string()],
            _ => self.fragments.clone(),
        }
    }

    /// Returns the arguments as text.
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
