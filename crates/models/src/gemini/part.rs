//! Contents and their parts as they are sent.

use std::borrow::Cow;

use serde::Serialize;
use toolway_types::RawJson;

/// A content.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<WirePart<'a>>,
}

/// Whose it is. Results of tools are a user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

/// A part: one of these, and what it was signed with.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<Response<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<Cow<'a, str>>,
}

/// Bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
}

/// A call.
#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) args: RawJson,
}

/// The result of one, under the name of the function.
#[derive(Debug, Serialize)]
pub(super) struct Response<'a> {
    /// Which of the conversation's calls it is of.
    #[serde(skip)]
    pub(super) at: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    pub(super) response: RawJson,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<ResponsePart<'a>>,
}

/// A picture in a result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponsePart<'a> {
    pub(super) inline_data: Blob<'a>,
}

impl<'a> WirePart<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub(super) fn picture(data: &'a str, mime_type: &'a str) -> Self {
        Self { inline_data: Some(Blob { mime_type, data }), ..Self::default() }
    }

    pub(super) fn is_response(&self) -> bool {
        self.function_response.is_some()
    }
}
