//! Contents and their parts as they are sent.

use std::borrow::Cow;

use serde::Serialize;
use toolway_types::RawJson;

/// A content.
#[derive(Debug, Serialize)]
pub(super) struct GeminiContent<'a> {
    pub(super) role: GeminiRole,
    pub(super) parts: Vec<GeminiPart<'a>>,
}

/// Author of a content. Tool results have the role `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum GeminiRole {
    User,
    Model,
}

/// A part with its signature.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inline_data: Option<GeminiBlob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<GeminiFunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<GeminiFunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<Cow<'a, str>>,
}

/// Bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiBlob<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
}

/// A call.
#[derive(Debug, Serialize)]
pub(super) struct GeminiFunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) args: RawJson,
}

/// The result of one, under the name of the function.
#[derive(Debug, Serialize)]
pub(super) struct GeminiFunctionResponse<'a> {
    /// Which of the conversation's calls it is of.
    #[serde(skip)]
    pub(super) at: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) response: RawJson,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<GeminiFunctionResponsePart<'a>>,
}

/// An image in a tool result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiFunctionResponsePart<'a> {
    pub(super) inline_data: GeminiBlob<'a>,
}

impl<'a> GeminiPart<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub(super) fn image(data: &'a str, mime_type: &'a str) -> Self {
        Self { inline_data: Some(GeminiBlob { mime_type, data }), ..Self::default() }
    }

    pub(super) fn is_response(&self) -> bool {
        self.function_response.is_some()
    }
}
