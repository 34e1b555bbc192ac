//! Conversion of a conversation to messages of Chat Completions: tool calls beside the text of a response, each result
//! in a message of its own and as text only, its images in the user message after it (pitfall M13).

use std::borrow::Cow;
use std::collections::HashMap;

use toolway_types::{CallId, JsonObject, RawJson};

use super::message::{
    ChatAssistantMessage, ChatCompletionMessage, ChatContentPart, ChatFunctionCall, ChatToolCall,
    ChatUserContent,
};
use crate::adapters::openai_common::wire_call_id;
use crate::call_arguments::arguments_text;
use crate::config::{ProviderConfig, ReasoningReplay, StructuredOutputMode};
use crate::message::{MessagePart, MessageRole, ModelMessage, ToolCall, ToolResult};
use crate::request::ModelRequest;
use crate::tool_names;
use crate::tool_result::{self, COMMON_IMAGE_TYPES, ImagePlacement};

/// Text of an added assistant message between a tool result and a user message, for servers that require one.
const FILLER_ASSISTANT_TEXT: &str = "(No answer was given.)";

/// The messages of a request, the instructions first.
pub(super) fn messages<'a>(
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
) -> Vec<ChatCompletionMessage<'a>> {
    let mut history = ChatMessagesBuilder {
        config,
        ids: HashMap::new(),
        messages: Vec::with_capacity(request.messages.len() + 1),
        user_parts: Vec::new(),
        after_tool: false,
    };
    let instructions = instructions(config, request);
    if !instructions.is_empty() {
        history.messages.push(match config.compatibility.developer_role {
            true => ChatCompletionMessage::Developer { content: instructions },
            false => ChatCompletionMessage::System { content: instructions },
        });
    }
    for message in &request.messages {
        match message.role {
            MessageRole::User => history.add_user_message(&message.parts),
            MessageRole::Assistant => history.add_assistant_message(message),
            MessageRole::Tool => history.add_results(&message.parts),
        }
    }
    history.flush_user_message();
    history.messages
}

/// Returns the instructions, including the response schema if the server has no field for it.
fn instructions<'a>(config: &ProviderConfig, request: &'a ModelRequest) -> Cow<'a, str> {
    match &request.output {
        Some(output) if config.compatibility.structured_output != StructuredOutputMode::JsonSchema => {
            let before = if request.system.is_empty() { "" } else { "\n\n" };
            Cow::Owned(format!("{}{before}{}", request.system, output.instructions()))
        }
        _ => Cow::Borrowed(&request.system),
    }
}

struct ChatMessagesBuilder<'a> {
    config: &'a ProviderConfig,
    /// The ids under which the server knows the calls so far.
    ids: HashMap<CallId, Cow<'a, str>>,
    messages: Vec<ChatCompletionMessage<'a>>,
    /// Parts of a person's message that is not written yet: what follows may belong to it.
    user_parts: Vec<ChatContentPart<'a>>,
    /// The last message so far is a tool result.
    after_tool: bool,
}

impl<'a> ChatMessagesBuilder<'a> {
    fn add_user_message(&mut self, parts: &'a [MessagePart]) {
        for part in parts {
            match part {
                MessagePart::Text { text, .. } if text.is_empty() => {}
                MessagePart::Text { text, .. } => self.user_parts.push(ChatContentPart::text(text)),
                MessagePart::Image { data, mime_type } => {
                    let picture = match self.image_type(data, mime_type) {
                        Some(media_type) => ChatContentPart::image(data, media_type),
                        None => ChatContentPart::text(tool_result::omitted_image_note(data, mime_type)),
                    };
                    self.user_parts.push(picture);
                }
                // Not a person's.
                MessagePart::Thinking { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult(_) => {}
            }
        }
    }

    fn add_assistant_message(&mut self, message: &'a ModelMessage) {
        let mut answer = ChatAssistantMessage::default();
        let mut text = AssistantText::default();
        let mut thinking = Vec::new();
        for part in &message.parts {
            match part {
                MessagePart::Text { text: more, .. } => text.push(more),
                MessagePart::Thinking { text: thought, opaque } => {
                    text.is_interrupted = true;
                    let data = opaque.as_ref().and_then(|opaque| opaque.for_provider(&self.config.name));
                    if let Some(data) = data {
                        thinking.push((thought.as_str(), data));
                    }
                }
                MessagePart::ToolCall(call) => {
                    text.is_interrupted = true;
                    if !self.config.compatibility.tools {
                        text.push(&format!("[Called the tool {} with {}]", call.name, arguments_text(call)));
                        continue;
                    }
                    let id = wire_call_id(call, &self.config.name, self.config.compatibility.call_ids);
                    self.ids.insert(call.id, id.clone());
                    answer.tool_calls.push(ChatToolCall {
                        id,
                        r#type: "function",
                        function: ChatFunctionCall {
                            name: tool_names::wire_name(&call.name),
                            arguments: arguments_text(call),
                        },
                        extra_content: opaque_field(call, &self.config.name, "extra_content"),
                    });
                }
                MessagePart::Image { .. } | MessagePart::ToolResult(_) => {}
            }
        }
        if text.text.is_empty() && answer.tool_calls.is_empty() {
            return;
        }
        self.flush_user_message();
        answer.content = match (text.text.is_empty(), self.config.compatibility.null_content) {
            (true, true) => None,
            _ => Some(Cow::Owned(text.text)),
        };
        match self.config.compatibility.reasoning_replay {
            ReasoningReplay::None => {}
            ReasoningReplay::Content => {
                let thought: String = thinking.iter().map(|(thought, _)| *thought).collect();
                answer.reasoning_content = Some(Cow::Owned(thought));
            }
            ReasoningReplay::Details => answer.reasoning_details = joined_reasoning_details(&thinking),
        }
        self.messages.push(ChatCompletionMessage::Assistant(answer));
        self.after_tool = false;
    }

    fn add_results(&mut self, parts: &'a [MessagePart]) {
        self.flush_user_message();
        let mut pictures = Vec::new();
        for part in parts {
            match part {
                MessagePart::ToolResult(result) => pictures.extend(self.add_result(result)),
                other => self.add_user_message(std::slice::from_ref(other)),
            }
        }
        self.user_parts.extend(pictures);
    }

    /// Writes a result, and returns its images with a text that names their origin.
    fn add_result(&mut self, result: &'a ToolResult) -> Vec<ChatContentPart<'a>> {
        let switches = &self.config.compatibility;
        let follow = switches.images && switches.content_parts && switches.user_after_tool;
        let place = if follow { ImagePlacement::InNextMessage } else { ImagePlacement::Omitted };
        let content = tool_result::result_text(result, place, COMMON_IMAGE_TYPES);
        if !switches.tools {
            return vec![ChatContentPart::text(format!("[Result of the tool {}] {content}", result.name))];
        }
        let id = self.ids.get(&result.call_id).cloned();
        let id = id.unwrap_or_else(|| Cow::Owned(result.call_id.to_string()));
        let mut pictures: Vec<_> = match follow {
            true => tool_result::sendable_images(&result.outcome, COMMON_IMAGE_TYPES)
                .map(|(data, mime_type)| ChatContentPart::image(data, mime_type))
                .collect(),
            false => Vec::new(),
        };
        if !pictures.is_empty() {
            let from = format!("[From the result of {} ({id})]", tool_names::wire_name(&result.name));
            pictures.insert(0, ChatContentPart::text(from));
        }
        self.messages.push(ChatCompletionMessage::Tool { tool_call_id: id, content });
        self.after_tool = true;
        pictures
    }

    /// Writes the open user message. Consecutive user messages become one: the turn between them had no result, and the
    /// templates of many models require alternating roles.
    fn flush_user_message(&mut self) {
        if self.user_parts.is_empty() {
            return;
        }
        if std::mem::take(&mut self.after_tool) && !self.config.compatibility.user_after_tool {
            let content = Some(Cow::Borrowed(FILLER_ASSISTANT_TEXT));
            self.messages.push(ChatCompletionMessage::Assistant(ChatAssistantMessage {
                content,
                ..ChatAssistantMessage::default()
            }));
        }
        let content = ChatUserContent::from_parts(
            std::mem::take(&mut self.user_parts),
            self.config.compatibility.content_parts,
        );
        self.messages.push(ChatCompletionMessage::User { content });
    }

    /// Media type of an image that can be sent.
    fn image_type(&self, data: &str, declared: &str) -> Option<&'static str> {
        let switches = &self.config.compatibility;
        if !switches.images || !switches.content_parts {
            return None;
        }
        tool_result::sendable_image_type(data, declared, COMMON_IMAGE_TYPES)
    }
}

/// Text of a response. Adjacent parts are joined; parts with something between them stay apart.
#[derive(Default)]
struct AssistantText {
    text: String,
    is_interrupted: bool,
}

impl AssistantText {
    fn push(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_interrupted) && !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(more);
    }
}

/// All `reasoning_details` of a response in one list.
fn joined_reasoning_details(thinking: &[(&str, &RawJson)]) -> Option<RawJson> {
    #[derive(serde::Deserialize)]
    struct ReplayedReasoningDetails {
        #[serde(default)]
        reasoning_details: Vec<RawJson>,
    }
    let data = thinking.iter().filter_map(|(_, data)| data.to::<ReplayedReasoningDetails>().ok());
    let all: Vec<_> = data.flat_map(|data| data.reasoning_details).collect();
    if all.is_empty() { None } else { RawJson::from_value(&all).ok() }
}

/// Returns a field of a call's opaque data.
fn opaque_field(call: &ToolCall, provider: &str, name: &str) -> Option<RawJson> {
    let data = call.opaque.as_ref()?.for_provider(provider)?;
    data.to::<JsonObject>().ok()?.get(name).map(RawJson::from)
}
