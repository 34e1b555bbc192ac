//! Converts a conversation for the Messages API: user and assistant messages alternate, the results of tool calls come
//! first in the next user message (pitfall M13), and thinking stays in its place before the calls (pitfall M8).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use toolway_types::CallId;

use super::content_block::{
    CacheBreakpoint, CacheableBlock, ContentBlockParam, MessageParam, MessageParamRole,
};
use crate::call_arguments::arguments_json;
use crate::config::ProviderConfig;
use crate::message::{MessagePart, MessageRole, ModelMessage, OpaqueState, ToolCall, ToolResult};
use crate::opaque::OpaquePayload;
use crate::request::ModelRequest;
use crate::tool_names;
use crate::tool_result::{self, COMMON_IMAGE_TYPES, ImagePlacement};
use crate::tools::ConvertedTools;

/// Text of an added user message. The API refuses a conversation that begins with the model.
const PLACEHOLDER_USER_TEXT: &str = "(The conversation began before this.)";

/// The messages of a request.
pub(super) fn messages<'a>(
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
) -> Vec<MessageParam<'a>> {
    let mut history = MessageParamsBuilder {
        config,
        request,
        tools,
        ids: HashMap::new(),
        used_ids: HashSet::new(),
        messages: Vec::new(),
    };
    for message in &request.messages {
        history.message(message);
    }
    let mut messages = history.messages;
    if messages.first().is_some_and(|first| first.role == MessageParamRole::Assistant) {
        let content = vec![ContentBlockParam::text(PLACEHOLDER_USER_TEXT).into()];
        messages.insert(0, MessageParam { role: MessageParamRole::User, content });
    }
    for message in messages.iter_mut().filter(|message| message.role == MessageParamRole::User) {
        // Stable: the rest keeps its order.
        message.content.sort_by_key(|marked| !marked.block.is_result());
    }
    if let Some(last) = messages.last_mut().filter(|last| last.role == MessageParamRole::Assistant)
        && let Some(CacheableBlock { block: ContentBlockParam::Text { text }, .. }) = last.content.last_mut()
    {
        *text = Cow::Owned(text.trim_end().to_owned());
    }
    mark_cache_breakpoints(&mut messages);
    messages
}

/// Returns whether a message contains tool calls or results.
pub(super) fn has_calls(messages: &[ModelMessage]) -> bool {
    let is_one = |part: &MessagePart| matches!(part, MessagePart::ToolCall(_) | MessagePart::ToolResult(_));
    messages.iter().any(|message| message.parts.iter().any(is_one))
}

/// Returns whether a part is sent.
pub(super) fn is_sent(part: &MessagePart, config: &ProviderConfig, request: &ModelRequest) -> bool {
    match part {
        MessagePart::Text { text, .. } => !text.trim().is_empty(),
        MessagePart::Thinking { opaque, .. } => thinking_data(opaque.as_ref(), config, request).is_some(),
        MessagePart::Image { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult(_) => true,
    }
}

/// Data that is sent back with thinking; `None` if the thinking is another model's or can't be sent.
fn thinking_data(
    opaque: Option<&OpaqueState>,
    config: &ProviderConfig,
    request: &ModelRequest,
) -> Option<OpaquePayload> {
    let kept = OpaquePayload::from_opaque_of_model(opaque, config, &request.model)?;
    (kept.signature.is_some() || kept.redacted.is_some()).then_some(kept)
}

/// Sets cache breakpoints on the last two user messages. The second last one matches the cache of the previous request.
fn mark_cache_breakpoints(messages: &mut [MessageParam<'_>]) {
    let users = messages.iter_mut().rev().filter(|message| message.role == MessageParamRole::User);
    for message in users.take(2) {
        let last = message.content.iter_mut().rev().find(|marked| marked.block.can_be_marked());
        if let Some(last) = last {
            last.mark = CacheBreakpoint(true);
        }
    }
}

struct MessageParamsBuilder<'a> {
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
    /// The ids under which the API knows the calls so far.
    ids: HashMap<CallId, Cow<'a, str>>,
    /// The same ids: none is another call's too.
    used_ids: HashSet<String>,
    messages: Vec<MessageParam<'a>>,
}

impl<'a> MessageParamsBuilder<'a> {
    fn message(&mut self, message: &'a ModelMessage) {
        let role = match message.role {
            MessageRole::Assistant => MessageParamRole::Assistant,
            MessageRole::User | MessageRole::Tool => MessageParamRole::User,
        };
        let mut content = Vec::new();
        for part in &message.parts {
            content.extend(self.part(part, role).map(CacheableBlock::from));
        }
        if content.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.content.append(&mut content),
            _ => self.messages.push(MessageParam { role, content }),
        }
    }

    fn part(&mut self, part: &'a MessagePart, role: MessageParamRole) -> Option<ContentBlockParam<'a>> {
        match part {
            // Refused where there is nothing in it.
            MessagePart::Text { text, .. } if text.trim().is_empty() => None,
            MessagePart::Text { text, .. } => Some(ContentBlockParam::text(text.as_str())),
            MessagePart::Image { data, mime_type } if role == MessageParamRole::User => {
                Some(image_block(data, mime_type))
            }
            MessagePart::Image { data, mime_type } => {
                Some(ContentBlockParam::text(tool_result::omitted_image_note(data, mime_type)))
            }
            MessagePart::Thinking { text, opaque } => {
                let data = thinking_data(opaque.as_ref(), self.config, self.request)?;
                Some(match data.redacted {
                    Some(data) => ContentBlockParam::RedactedThinking { data },
                    None => ContentBlockParam::Thinking { thinking: text, signature: data.signature? },
                })
            }
            MessagePart::ToolCall(call) => Some(self.call(call)),
            MessagePart::ToolResult(result) => Some(self.result(result)),
        }
    }

    fn call(&mut self, call: &'a ToolCall) -> ContentBlockParam<'a> {
        let own = OpaquePayload::from_opaque(call.opaque.as_ref(), self.config).and_then(|kept| kept.id);
        let own = own.filter(|id| is_valid_call_id(id) && self.used_ids.insert(id.clone()));
        let id: Cow<'a, str> = Cow::Owned(own.unwrap_or_else(|| call.id.to_string()));
        self.ids.insert(call.id, id.clone());
        ContentBlockParam::ToolUse {
            id,
            name: tool_names::wire_name(&call.name),
            input: arguments_json(call, self.tools),
        }
    }

    fn result(&self, result: &'a ToolResult) -> ContentBlockParam<'a> {
        let id = self.ids.get(&result.call_id).cloned();
        let mut content = vec![ContentBlockParam::text(tool_result::result_text(
            result,
            ImagePlacement::InResult,
            COMMON_IMAGE_TYPES,
        ))];
        let pictures = tool_result::sendable_images(&result.outcome, COMMON_IMAGE_TYPES);
        content.extend(pictures.map(|(data, mime_type)| ContentBlockParam::image(data, mime_type)));
        ContentBlockParam::ToolResult {
            tool_use_id: id.unwrap_or_else(|| Cow::Owned(result.call_id.to_string())),
            content,
            is_error: !result.outcome.is_success(),
        }
    }
}

fn image_block<'a>(data: &'a str, mime_type: &'a str) -> ContentBlockParam<'a> {
    match tool_result::sendable_image_type(data, mime_type, COMMON_IMAGE_TYPES) {
        Some(media_type) => ContentBlockParam::image(data, media_type),
        None => ContentBlockParam::text(tool_result::omitted_image_note(data, mime_type)),
    }
}

/// Returns whether the API accepts it as the id of a call.
fn is_valid_call_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
