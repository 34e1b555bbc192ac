//! Messages as Chat Completions has them.

use std::borrow::Cow;

use serde::Serialize;
use toolway_types::RawJson;

use crate::adapters::openai_common::DataUrl;

/// A message.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatCompletionMessage<'a> {
    System { content: Cow<'a, str> },
    Developer { content: Cow<'a, str> },
    User { content: ChatUserContent<'a> },
    Assistant(ChatAssistantMessage<'a>),
    Tool { tool_call_id: Cow<'a, str>, content: String },
}

/// A model's message.
#[derive(Debug, Default, Serialize)]
pub(super) struct ChatAssistantMessage<'a> {
    pub(super) content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<RawJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ChatToolCall<'a>>,
}

/// A tool call.
#[derive(Debug, Serialize)]
pub(super) struct ChatToolCall<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) r#type: &'static str,
    pub(super) function: ChatFunctionCall<'a>,
    /// Data that Google's compatible API expects back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<RawJson>,
}

/// Which function, and with what.
#[derive(Debug, Serialize)]
pub(super) struct ChatFunctionCall<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: Cow<'a, str>,
}

/// Content of a user message.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChatUserContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ChatContentPart<'a>>),
}

/// A part of it.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
}

/// An image.
#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: DataUrl<'a>,
}

impl<'a> ChatContentPart<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into() }
    }

    pub(super) fn image(data: &'a str, mime_type: &'a str) -> Self {
        Self::ImageUrl { image_url: ImageUrl { url: DataUrl { mime_type, data } } }
    }
}

/// Several texts as one.
const PARAGRAPH_BREAK: &str = "\n\n";

impl<'a> ChatUserContent<'a> {
    /// Creates a plain string from a single text part, or if the server supports only strings. Otherwise creates a list
    /// of parts.
    pub(super) fn from_parts(mut parts: Vec<ChatContentPart<'a>>, as_parts: bool) -> Self {
        if parts.len() == 1
            && let Some(ChatContentPart::Text { text }) =
                parts.pop_if(|part| matches!(part, ChatContentPart::Text { .. }))
        {
            return Self::Text(text);
        }
        if as_parts {
            return Self::Parts(parts);
        }
        let texts = parts.into_iter().filter_map(|part| match part {
            ChatContentPart::Text { text } => Some(text),
            ChatContentPart::ImageUrl { .. } => None,
        });
        Self::Text(Cow::Owned(texts.collect::<Vec<_>>().join(PARAGRAPH_BREAK)))
    }
}
