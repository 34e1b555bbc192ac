//! Conversion of a conversation to items of the Responses API: messages, thinking, calls and results in one list, in
//! their original order.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, RawJson};

use crate::adapters::openai_common::{DataUrl, wire_call_id};
use crate::call_arguments::arguments_text;
use crate::config::{CallIdFormat, ProviderConfig};
use crate::message::{MessagePart, MessageRole, ModelMessage, OpaqueState, ToolResult};
use crate::request::ModelRequest;
use crate::tool_names;
use crate::tool_result::{self, COMMON_IMAGE_TYPES, ImagePlacement};

/// An item.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ResponsesInputItem<'a> {
    Message(InputMessageItem<'a>),
    /// Encrypted thinking, unchanged.
    Reasoning(RawJson),
    Call(FunctionCallItem<'a>),
    Output(FunctionCallOutputItem<'a>),
}

#[derive(Debug, Serialize)]
pub(super) struct InputMessageItem<'a> {
    r#type: &'static str,
    role: &'static str,
    content: InputItemContent<'a>,
    /// Phase of a message: commentary or final answer. Newer models expect it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<RawJson>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionCallItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionCallOutputItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    output: InputItemContent<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum InputItemContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<InputContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputContentPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: DataUrl<'a>, detail: &'static str },
}

/// A reasoning item, stored with its thinking part.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredReasoning {
    /// The model whose thought it is. Another may not be able to read it, or not think at all and refuse it.
    pub(super) model: String,
    /// The item.
    pub(super) item: RawJson,
}

/// The items of a request.
pub(super) fn items<'a>(
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
) -> Vec<ResponsesInputItem<'a>> {
    let mut input =
        InputItemsBuilder { config, model: &request.model, ids: HashMap::new(), items: Vec::new() };
    for message in &request.messages {
        match message.role {
            MessageRole::User => input.add_user_message(&message.parts),
            MessageRole::Assistant => input.add_assistant_message(message),
            MessageRole::Tool => input.add_results(&message.parts),
        }
    }
    input.items
}

struct InputItemsBuilder<'a> {
    config: &'a ProviderConfig,
    model: &'a str,
    /// The ids under which the provider knows the calls so far.
    ids: HashMap<CallId, Cow<'a, str>>,
    items: Vec<ResponsesInputItem<'a>>,
}

impl<'a> InputItemsBuilder<'a> {
    fn add_user_message(&mut self, parts: &'a [MessagePart]) {
        let mut content = Vec::new();
        for part in parts {
            match part {
                MessagePart::Text { text, .. } if text.is_empty() => {}
                MessagePart::Text { text, .. } => {
                    content.push(InputContentPart::InputText { text: text.into() })
                }
                MessagePart::Image { data, mime_type } => {
                    content.push(match self.image_type(data, mime_type) {
                        Some(media_type) => InputContentPart::image(data, media_type),
                        None => InputContentPart::InputText {
                            text: tool_result::omitted_image_note(data, mime_type).into(),
                        },
                    });
                }
                // Not a person's.
                MessagePart::Thinking { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult(_) => {}
            }
        }
        if !content.is_empty() {
            self.push_message("user", InputItemContent::from_parts(content), None);
        }
    }

    fn add_assistant_message(&mut self, message: &'a ModelMessage) {
        // A thought goes only before what came of it; without that it is refused.
        let mut thoughts = Vec::new();
        for part in &message.parts {
            match part {
                MessagePart::Text { text, opaque } if !text.is_empty() => {
                    self.items.append(&mut thoughts);
                    self.push_message(
                        "assistant",
                        InputItemContent::Text(text.into()),
                        self.opaque_field(opaque.as_ref(), "phase"),
                    );
                }
                MessagePart::Thinking { opaque, .. } => thoughts.extend(self.reasoning_item(opaque.as_ref())),
                MessagePart::ToolCall(call) => {
                    self.items.append(&mut thoughts);
                    let call_id = wire_call_id(call, &self.config.name, CallIdFormat::Any);
                    self.ids.insert(call.id, call_id.clone());
                    let (name, arguments) = (tool_names::wire_name(&call.name), arguments_text(call));
                    self.items.push(ResponsesInputItem::Call(FunctionCallItem {
                        r#type: "function_call",
                        call_id,
                        name,
                        arguments,
                    }));
                }
                MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::ToolResult(_) => {}
            }
        }
    }

    fn add_results(&mut self, parts: &'a [MessagePart]) {
        for part in parts {
            match part {
                MessagePart::ToolResult(result) => self.add_result(result),
                other => self.add_user_message(std::slice::from_ref(other)),
            }
        }
    }

    fn add_result(&mut self, result: &'a ToolResult) {
        let shows = self.config.compatibility.images;
        let place = if shows { ImagePlacement::InResult } else { ImagePlacement::Omitted };
        let text = tool_result::result_text(result, place, COMMON_IMAGE_TYPES);
        let mut content = vec![InputContentPart::InputText { text: text.into() }];
        if shows {
            let pictures = tool_result::sendable_images(&result.outcome, COMMON_IMAGE_TYPES);
            content.extend(pictures.map(|(data, mime_type)| InputContentPart::image(data, mime_type)));
        }
        let known = self.ids.get(&result.call_id).cloned();
        let call_id = known.unwrap_or_else(|| Cow::Owned(result.call_id.to_string()));
        let output = InputItemContent::from_parts(content);
        self.items.push(ResponsesInputItem::Output(FunctionCallOutputItem {
            r#type: "function_call_output",
            call_id,
            output,
        }));
    }

    fn push_message(&mut self, role: &'static str, content: InputItemContent<'a>, phase: Option<RawJson>) {
        self.items.push(ResponsesInputItem::Message(InputMessageItem {
            r#type: "message",
            role,
            content,
            phase,
        }));
    }

    fn reasoning_item(&self, opaque: Option<&OpaqueState>) -> Option<ResponsesInputItem<'a>> {
        let thought: StoredReasoning = opaque?.for_provider(&self.config.name)?.to().ok()?;
        (thought.model == self.model).then_some(ResponsesInputItem::Reasoning(thought.item))
    }

    fn opaque_field(&self, opaque: Option<&OpaqueState>, field: &str) -> Option<RawJson> {
        let fields: HashMap<String, RawJson> = opaque?.for_provider(&self.config.name)?.to().ok()?;
        fields.get(field).cloned()
    }

    /// Media type of an image that can be sent.
    fn image_type(&self, data: &str, declared: &str) -> Option<&'static str> {
        if !self.config.compatibility.images {
            return None;
        }
        tool_result::sendable_image_type(data, declared, COMMON_IMAGE_TYPES)
    }
}

impl<'a> InputContentPart<'a> {
    fn image(data: &'a str, mime_type: &'a str) -> Self {
        Self::InputImage { image_url: DataUrl { mime_type, data }, detail: "auto" }
    }
}

impl<'a> InputItemContent<'a> {
    /// Creates a plain string from a single text part, otherwise a list of parts.
    fn from_parts(mut parts: Vec<InputContentPart<'a>>) -> Self {
        if parts.len() == 1
            && let Some(InputContentPart::InputText { text }) =
                parts.pop_if(|part| matches!(part, InputContentPart::InputText { .. }))
        {
            return Self::Text(text);
        }
        Self::Parts(parts)
    }
}
