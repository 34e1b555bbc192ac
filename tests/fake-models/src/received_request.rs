//! Received requests, and their content in a provider-independent form, so that one assertion works for all
//! APIs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::api::ApiKind;

/// A received request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceivedRequest {
    /// Number of the request, from 0, without lists of models.
    pub number: usize,
    /// The API.
    pub api: ApiKind,
    /// Path and query.
    pub path: String,
    /// Headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Body as JSON; a string if it is not JSON.
    pub body: Value,
    /// Parsed content.
    pub said: ParsedRequest,
    /// Time of arrival in microseconds since the server's epoch.
    pub at_micros: u64,
    /// Status of the response; `None` while it is held.
    pub status: Option<u16>,
    /// The API's error message, if it was refused.
    pub refused: Option<String>,
}

/// Content of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ParsedRequest {
    /// The model.
    pub model: String,
    /// True for a stream.
    pub stream: bool,
    /// System message, or several joined with blank lines.
    pub system: String,
    /// Names of the tools, in order.
    pub tools: Vec<String>,
    /// The conversation. Consecutive tool results are in one message of the role `tool`, regardless of their
    /// place in the API.
    pub messages: Vec<ParsedMessage>,
}

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ParsedMessage {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub text: String,
    /// Number of thinking parts that were sent back, readable or not.
    pub thinking: usize,
    /// Number of images, without those in results.
    pub images: usize,
    /// Tool calls.
    pub calls: Vec<ParsedToolCall>,
    /// Tool results.
    pub results: Vec<ParsedToolResult>,
}

/// A tool call that was sent back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParsedToolCall {
    /// Id of the provider; empty if there is none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments; a string if they are not JSON.
    pub arguments: Value,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParsedToolResult {
    /// Id of its call; empty if there is none.
    pub id: String,
    /// Name of the tool, from its call if the API does not contain it.
    pub name: String,
    /// Text of the result.
    pub text: String,
    /// Number of images.
    pub images: usize,
    /// True for a failure, if the API can mark it.
    pub is_error: Option<bool>,
}

impl ReceivedRequest {
    /// Returns a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

impl ParsedRequest {
    /// Returns the last message.
    #[must_use]
    pub fn last(&self) -> Option<&ParsedMessage> {
        self.messages.last()
    }

    /// Returns the text of the last user message.
    #[must_use]
    pub fn last_user_text(&self) -> &str {
        let last = self.messages.iter().rev().find(|message| message.role == "user");
        last.map(|message| message.text.as_str()).unwrap_or_default()
    }

    /// Returns the results at the end, which the model has not answered yet.
    #[must_use]
    pub fn new_results(&self) -> &[ParsedToolResult] {
        self.last().map(|message| message.results.as_slice()).unwrap_or_default()
    }

    /// Returns all results, in order.
    #[must_use]
    pub fn results(&self) -> Vec<&ParsedToolResult> {
        self.messages.iter().flat_map(|message| &message.results).collect()
    }

    /// Returns the number of tool rounds since the last user message.
    #[must_use]
    pub fn rounds(&self) -> usize {
        let since = self.messages.iter().rev().take_while(|message| message.role != "user");
        since.filter(|message| !message.results.is_empty()).count()
    }

    /// Returns the message of this role that more content is added to.
    pub(crate) fn message(&mut self, role: &str) -> &mut ParsedMessage {
        let wanted = self.messages.last().is_some_and(|last| last.role == role);
        if !wanted {
            self.messages.push(ParsedMessage { role: role.to_owned(), ..ParsedMessage::default() });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    /// Adds a system message.
    pub(crate) fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push_str("\n\n");
        }
        self.system.push_str(text);
    }

    /// Returns the name of this call's tool.
    pub(crate) fn name_of(&self, id: &str) -> String {
        let calls = self.messages.iter().rev().flat_map(|message| &message.calls);
        calls.into_iter().find(|call| call.id == id).map(|call| call.name.clone()).unwrap_or_default()
    }
}
