//! Messages and their blocks as they are sent.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use toolway_types::RawJson;

/// A message.
#[derive(Debug, Serialize)]
pub(super) struct MessageParam<'a> {
    pub(super) role: MessageParamRole,
    pub(super) content: Vec<CacheableBlock<'a>>,
}

/// Author of a message. Tool results have the role `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageParamRole {
    User,
    Assistant,
}

/// A block, optionally with a cache breakpoint.
#[derive(Debug, Serialize)]
pub(super) struct CacheableBlock<'a> {
    #[serde(flatten)]
    pub(super) block: ContentBlockParam<'a>,
    #[serde(rename = "cache_control", skip_serializing_if = "CacheBreakpoint::is_off")]
    pub(super) mark: CacheBreakpoint,
}

impl<'a> From<ContentBlockParam<'a>> for CacheableBlock<'a> {
    fn from(block: ContentBlockParam<'a>) -> Self {
        Self { block, mark: CacheBreakpoint(false) }
    }
}

/// A block.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentBlockParam<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Base64ImageSource<'a>,
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
        content: Vec<ContentBlockParam<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

/// Data of an image.
#[derive(Debug, Serialize)]
pub(super) struct Base64ImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> ContentBlockParam<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    pub(super) fn image(data: &'a str, media_type: &'a str) -> Self {
        Self::Image { source: Base64ImageSource { r#type: "base64", media_type, data } }
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::ToolResult { .. })
    }

    /// Returns whether a cache breakpoint may be set on it.
    pub(super) fn can_be_marked(&self) -> bool {
        !matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

/// A cache breakpoint, if there is one here.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheBreakpoint(pub(super) bool);

impl CacheBreakpoint {
    fn is_off(&self) -> bool {
        !self.0
    }
}

impl Serialize for CacheBreakpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CacheControlEphemeral {
            r#type: &'static str,
        }
        CacheControlEphemeral { r#type: "ephemeral" }.serialize(serializer)
    }
}
