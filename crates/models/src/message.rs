//! Messages of a conversation, made of ordered parts. A part keeps data that its provider expects back unchanged.
//! History that goes to another provider omits that data.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, Outcome, RawJson};

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A person's.
    User,
    /// The model's.
    Assistant,
    /// Results of the model's tool calls: all results of one response together.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    /// Author.
    pub role: MessageRole,
    /// Its parts in order.
    pub parts: Vec<MessagePart>,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessagePart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Data that the provider expects back with it.
        opaque: Option<OpaqueState>,
    },
    /// An image.
    Image {
        /// Its bytes in base64.
        data: String,
        /// Its media type, such as `image/png`.
        mime_type: String,
    },
    /// Thinking of the model before its response.
    Thinking {
        /// The text or a summary of it. Empty if the provider hides it.
        text: String,
        /// Signature or encrypted form. Thinking without it is not sent back to the provider.
        opaque: Option<OpaqueState>,
    },
    /// A tool that the model wants to be run.
    ToolCall(ToolCall),
    /// Outcome of the call.
    ToolResult(ToolResult),
}

/// A tool that the model wants to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Id of the call in the engine and in the call record. If the provider has its own id, it is in `opaque` under
    /// `"id"`.
    pub id: CallId,
    /// Name of the tool as the model knows it.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, which may be cut or malformed.
    pub arguments: String,
    /// The response ended inside the arguments, so they must not be used.
    pub is_cut: bool,
    /// Data that the provider expects back: its own id, a signature.
    pub opaque: Option<OpaqueState>,
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The call's id.
    pub call_id: CallId,
    /// Name of the tool as the model knows it.
    pub name: String,
    /// The outcome.
    pub outcome: Arc<Outcome>,
    /// The text goes to the model without the result envelope, because the API's client runs its own tools and chooses
    /// their format.
    pub verbatim: bool,
}

impl ToolResult {
    /// A result in the envelope.
    #[must_use]
    pub fn new(call_id: CallId, name: impl Into<String>, outcome: Arc<Outcome>) -> Self {
        Self { call_id, name: name.into(), outcome, verbatim: false }
    }
}

/// Data of one provider that it expects back byte for byte. Other providers do not get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueState {
    /// Name of the model provider that wrote it.
    pub provider: Arc<str>,
    /// A JSON object. Its fields depend on the adapter, except `id`, the provider's id of a tool call.
    pub data: RawJson,
}

impl MessagePart {
    /// Text that carries nothing else.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), opaque: None }
    }

    /// Returns the text of a text part.
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
    /// Returns the data if it comes from this provider.
    #[must_use]
    pub fn for_provider(&self, provider: &str) -> Option<&RawJson> {
        (&*self.provider == provider).then_some(&self.data)
    }
}
