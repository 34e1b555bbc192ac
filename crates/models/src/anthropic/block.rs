//! Messages and their blocks as they are sent.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use toolway_types::RawJson;

/// A message.
#[derive(Debug, Serialize)]
pub(super) struct WireMessage<'a> {
    pub(super) role: Role,
    pub(super) content: Vec<Marked<'a>>,
}

/// Whose it is. Results of tools are a user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

/// A block, and whether what is cached ends with it.
#[derive(Debug, Serialize)]
pub(super) struct Marked<'a> {
    #[serde(flatten)]
    pub(super) block: Block<'a>,
    #[serde(rename = "cache_control", skip_serializing_if = "Mark::is_off")]
    pub(super) mark: Mark,
}

impl<'a> From<Block<'a>> for Marked<'a> {
    fn from(block: Block<'a>) -> Self {
        Self { block, mark: Mark(false) }
    }
}

/// A block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: RawJson,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// The bytes of a picture.
#[derive(Debug, Serialize)]
pub(super) struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> Block<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    pub(super) fn image(data: &'a str, media_type: &'a str) -> Self {
        Self::Image { source: Source { r#type: "base64", media_type, data } }
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }

    /// Whether what is cached may end with it.
    pub(super) fn can_be_marked(&self) -> bool {
        !matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

/// Whether what is cached ends somewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(pub(super) bool);

impl Mark {
    fn is_off(&self) -> bool {
        !self.0
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Ephemeral {
            r#type: &'static str,
        }
        Ephemeral { r#type: "ephemeral" }.serialize(serializer)
    }
}
