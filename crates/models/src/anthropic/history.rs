//! A conversation as Messages wants it: a person's and a model's messages in turn, all results of a model's calls
//! first in the message that follows them (pitfall M13), and what the model thought in its place before them
//! (pitfall M8).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use toolway_types::CallId;

use super::block::{Block, Mark, Marked, Role, WireMessage};
use crate::config::ProviderConfig;
use crate::message::{Message, MessageRole, Opaque, Part, ToolCall, ToolResult};
use crate::names;
use crate::opaque::{Kept, arguments};
use crate::request::ModelRequest;
use crate::result::{self, Pictures, USUAL_PICTURES};
use crate::tools::ConvertedTools;

/// What a person is made to have said where a conversation begins with a model's words, which is not taken.
const BEGINNING: &str = "(The conversation began before this.)";

/// The messages of a request.
pub(super) fn messages<'a>(
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
) -> Vec<WireMessage<'a>> {
    let mut history =
        History { config, request, tools, ids: HashMap::new(), taken: HashSet::new(), written: Vec::new() };
    for message in &request.messages {
        history.message(message);
    }
    let mut messages = history.written;
    if messages.first().is_some_and(|first| first.role == Role::Assistant) {
        let content = vec![Block::text(BEGINNING).into()];
        messages.insert(0, WireMessage { role: Role::User, content });
    }
    for message in messages.iter_mut().filter(|message| message.role == Role::User) {
        // Stable: the rest keeps its order.
        message.content.sort_by_key(|marked| !marked.block.is_result());
    }
    if let Some(last) = messages.last_mut().filter(|last| last.role == Role::Assistant)
        && let Some(Marked { block: Block::Text { text }, .. }) = last.content.last_mut()
    {
        *text = Cow::Owned(text.trim_end().to_owned());
    }
    mark(&mut messages);
    messages
}

/// Whether a message has calls or results of tools.
pub(super) fn has_calls(messages: &[Message]) -> bool {
    let is_one = |part: &Part| matches!(part, Part::ToolCall(_) | Part::ToolResult(_));
    messages.iter().any(|message| message.parts.iter().any(is_one))
}

/// Whether a part is sent at all.
pub(super) fn is_sent(part: &Part, config: &ProviderConfig, request: &ModelRequest) -> bool {
    match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Thinking { opaque, .. } => thinking_data(opaque.as_ref(), config, request).is_some(),
        Part::Image { .. } | Part::ToolCall(_) | Part::ToolResult(_) => true,
    }
}

/// What goes with thinking of the model that is asked; none where it is another's, or can't be sent.
fn thinking_data(opaque: Option<&Opaque>, config: &ProviderConfig, request: &ModelRequest) -> Option<Kept> {
    let kept = Kept::of_model(opaque, config, &request.model)?;
    (kept.signature.is_some() || kept.redacted.is_some()).then_some(kept)
}

/// Marks the last and the last but one message of the user's side: what was cached for one request is the beginning
/// of the next.
fn mark(messages: &mut [WireMessage<'_>]) {
    let users = messages.iter_mut().rev().filter(|message| message.role == Role::User);
    for message in users.take(2) {
        let last = message.content.iter_mut().rev().find(|marked| marked.block.can_be_marked());
        if let Some(last) = last {
            last.mark = Mark(true);
        }
    }
}

struct History<'a> {
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
    /// The ids under which the API knows the calls so far.
    ids: HashMap<CallId, Cow<'a, str>>,
    /// The same ids: none is another call's too.
    taken: HashSet<String>,
    written: Vec<WireMessage<'a>>,
}

impl<'a> History<'a> {
    fn message(&mut self, message: &'a Message) {
        let role = match message.role {
            MessageRole::Assistant => Role::Assistant,
            MessageRole::User | MessageRole::Tool => Role::User,
        };
        let mut content = Vec::new();
        for part in &message.parts {
            content.extend(self.part(part, role).map(Marked::from));
        }
        if content.is_empty() {
            return;
        }
        match self.written.last_mut() {
            Some(last) if last.role == role => last.content.append(&mut content),
            _ => self.written.push(WireMessage { role, content }),
        }
    }

    fn part(&mut self, part: &'a Part, role: Role) -> Option<Block<'a>> {
        match part {
            // Refused where there is nothing in it.
            Part::Text { text, .. } if text.trim().is_empty() => None,
            Part::Text { text, .. } => Some(Block::text(text.as_str())),
            Part::Image { data, mime_type } if role == Role::User => Some(picture(data, mime_type)),
            Part::Image { mime_type, .. } => Some(Block::text(result::unseen_picture(mime_type))),
            Part::Thinking { text, opaque } => {
                let data = thinking_data(opaque.as_ref(), self.config, self.request)?;
                Some(match data.redacted {
                    Some(data) => Block::RedactedThinking { data },
                    None => Block::Thinking { thinking: text, signature: data.signature? },
                })
            }
            Part::ToolCall(call) => Some(self.call(call)),
            Part::ToolResult(result) => Some(self.result(result)),
        }
    }

    fn call(&mut self, call: &'a ToolCall) -> Block<'a> {
        let own = Kept::of(call.opaque.as_ref(), self.config).and_then(|kept| kept.id);
        let own = own.filter(|id| is_id(id) && self.taken.insert(id.clone()));
        let id: Cow<'a, str> = Cow::Owned(own.unwrap_or_else(|| call.id.to_string()));
        self.ids.insert(call.id, id.clone());
        Block::ToolUse { id, name: names::sent(&call.name), input: arguments(call, self.tools) }
    }

    fn result(&self, result: &'a ToolResult) -> Block<'a> {
        let id = self.ids.get(&result.call_id).cloned();
        let mut content = vec![Block::text(result::said(result, Pictures::Beside, USUAL_PICTURES))];
        let pictures = result::pictures(&result.outcome, USUAL_PICTURES);
        content.extend(pictures.map(|(data, mime_type)| Block::image(data, mime_type)));
        Block::ToolResult {
            tool_use_id: id.unwrap_or_else(|| Cow::Owned(result.call_id.to_string())),
            content,
            is_error: !result.outcome.is_success(),
        }
    }
}

fn picture<'a>(data: &'a str, mime_type: &'a str) -> Block<'a> {
    if result::can_be_shown(data, mime_type, USUAL_PICTURES) {
        Block::image(data, mime_type)
    } else {
        Block::text(result::unseen_picture(mime_type))
    }
}

/// Whether the API takes it as the id of a call.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
