//! What is said in a conversation: messages of ordered parts. Each part keeps what its provider wants to see again
//! verbatim; whoever sends history to another provider leaves that out.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, Outcome, RawJson};

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A person's.
    User,
    /// The model's.
    Assistant,
    /// The results of the model's tool calls, all those of one answer together.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    /// Whose it is.
    pub role: MessageRole,
    /// Its parts, in the order in which they were said.
    pub parts: Vec<MessagePart>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What the provider wants to see again with it.
        opaque: Option<OpaqueState>,
    },
    /// A picture.
    Image {
        /// Its bytes in base64.
        data: String,
        /// Its media type, such as `image/png`.
        mime_type: String,
    },
    /// What the model thought before it spoke.
    Thinking {
        /// The text, or a summary of it; empty where the provider keeps it to itself.
        text: String,
        /// Its signature or its encrypted form, without which it is not sent again.
        opaque: Option<OpaqueState>,
    },
    /// A tool that the model wants to be run.
    ToolCall(ToolCall),
    /// How that ended.
    ToolResult(ToolResult),
}

/// A tool that the model wants to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Our id, which is the call's in the engine and in its record. The provider's own id, where it gave one, is
    /// in `opaque` under `"id"`.
    pub id: CallId,
    /// The tool's name as the model was told it.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, which may be cut or malformed.
    pub arguments: String,
    /// Whether the answer ended in the middle of the arguments, so that they must not be used.
    pub is_cut: bool,
    /// What the provider wants to see again with it: its own id, a signature.
    pub opaque: Option<OpaqueState>,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: CallId,
    /// The tool's name as the model was told it.
    pub name: String,
    /// The outcome.
    pub outcome: Arc<Outcome>,
    /// Whether a text goes to the model as it is and not in the envelope: whoever asks brings results of their own
    /// tools, in a form that is theirs.
    pub verbatim: bool,
}

impl ToolResult {
    /// A result in the envelope.
    #[must_use]
    pub fn new(call_id: CallId, name: impl Into<String>, outcome: Arc<Outcome>) -> Self {
        Self { call_id, name: name.into(), outcome, verbatim: false }
    }
}

/// What one provider wrote for itself and wants to see again, byte for byte. To any other provider it means nothing
/// and is not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueState {
    /// The name of the model provider that it came from, as the owner named it.
    pub provider: Arc<str>,
    /// A JSON object; which fields it has is the adapter's affair, but for `id`: the provider's id of a tool call.
    pub data: RawJson,
}

impl MessagePart {
    /// Text that carries nothing else.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), opaque: None }
    }

    /// The text, where it is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

impl ModelMessage {
    /// A person's message of one text.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: MessageRole::User, parts: vec![MessagePart::text(text)] }
    }

    /// A model's message of one text.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { role: MessageRole::Assistant, parts: vec![MessagePart::text(text)] }
    }

    /// Its text parts, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(MessagePart::as_text).collect()
    }

    /// Its tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl OpaqueState {
    /// The data, where it is for this provider.
    #[must_use]
    pub fn for_provider(&self, provider: &str) -> Option<&RawJson> {
        (&*self.provider == provider).then_some(&self.data)
    }
}
