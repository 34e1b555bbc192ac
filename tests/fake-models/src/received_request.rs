//! Requests as they came, and what they say in a form that belongs to no provider, so that one assertion serves for
//! all APIs.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::api::ApiKind;

/// A request that came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReceivedRequest {
    /// Its number, from 0, among those to models (lists of models are not counted).
    pub number: usize,
    /// The API.
    pub api: ApiKind,
    /// Path and query.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body as JSON; a string where it was none.
    pub body: Value,
    /// What it says.
    pub said: ParsedRequest,
    /// Microseconds since the server's epoch when all of it had come.
    pub at_micros: u64,
    /// The status that it was answered with; none while it is held.
    pub status: Option<u16>,
    /// Why it was refused, where it was: the API's own words.
    pub refused: Option<String>,
}

/// What a request says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ParsedRequest {
    /// The model.
    pub model: String,
    /// Whether it wants a stream.
    pub stream: bool,
    /// The system message, or several joined with blank lines.
    pub system: String,
    /// The names of the tools, in order.
    pub tools: Vec<String>,
    /// The conversation. Results of tools stand in messages of the role `tool`, all that follow each other in one,
    /// whatever the API puts them in.
    pub messages: Vec<ParsedMessage>,
}

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ParsedMessage {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub text: String,
    /// Thinking that was sent back, readable or not: so many parts.
    pub thinking: usize,
    /// How many pictures are in it; those in results are counted there.
    pub images: usize,
    /// Its tool calls.
    pub calls: Vec<ParsedToolCall>,
    /// Its results.
    pub results: Vec<ParsedToolResult>,
}

/// A tool call that was sent back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParsedToolCall {
    /// The provider's id; empty where there is none.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments; a string where they are no JSON.
    pub arguments: Value,
}

/// The result of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParsedToolResult {
    /// The id of its call; empty where there is none.
    pub id: String,
    /// The tool, by its call where the API does not say it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// How many pictures are in it.
    pub images: usize,
    /// Whether it is marked as a failure, where the API can.
    pub is_error: Option<bool>,
}

impl ReceivedRequest {
    /// A header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

impl ParsedRequest {
    /// The last message.
    #[must_use]
    pub fn last(&self) -> Option<&ParsedMessage> {
        self.messages.last()
    }

    /// The last text of a person.
    #[must_use]
    pub fn last_user_text(&self) -> &str {
        let last = self.messages.iter().rev().find(|message| message.role == "user");
        last.map(|message| message.text.as_str()).unwrap_or_default()
    }

    /// The results that stand at the very end: those that the model has not answered yet.
    #[must_use]
    pub fn new_results(&self) -> &[ParsedToolResult] {
        self.last().map(|message| message.results.as_slice()).unwrap_or_default()
    }

    /// All results in it, in order.
    #[must_use]
    pub fn results(&self) -> Vec<&ParsedToolResult> {
        self.messages.iter().flat_map(|message| &message.results).collect()
    }

    /// Rounds since the last message of a person: how often tools were run for it.
    #[must_use]
    pub fn rounds(&self) -> usize {
        let since = self.messages.iter().rev().take_while(|message| message.role != "user");
        since.filter(|message| !message.results.is_empty()).count()
    }

    /// The message of this role to which more of the same role is to be added.
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

    /// The name of the tool of this call.
    pub(crate) fn name_of(&self, id: &str) -> String {
        let calls = self.messages.iter().rev().flat_map(|message| &message.calls);
        calls.into_iter().find(|call| call.id == id).map(|call| call.name.clone()).unwrap_or_default()
    }
}
