//! A conversation as the list of items that the Responses API wants: messages, thinking, calls and results side by
//! side, in the order in which they were said.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use toolway_types::{CallId, RawJson};

use crate::config::{CallIds, ProviderConfig};
use crate::message::{Message, MessageRole, Opaque, Part, ToolResult};
use crate::names;
use crate::openai::{DataUrl, arguments, id};
use crate::request::ModelRequest;
use crate::result::{self, Pictures, USUAL_PICTURES};

/// An item.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Message(MessageItem<'a>),
    /// Encrypted thinking, as it came.
    Reasoning(RawJson),
    Call(CallItem<'a>),
    Output(OutputItem<'a>),
}

#[derive(Debug, Serialize)]
pub(super) struct MessageItem<'a> {
    r#type: &'static str,
    role: &'static str,
    content: Content<'a>,
    /// Whether the model spoke by the way or gave its answer; newer models want to see it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<RawJson>,
}

#[derive(Debug, Serialize)]
pub(super) struct CallItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct OutputItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    output: Content<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: DataUrl<'a>, detail: &'static str },
}

/// What a reasoning item leaves in a thinking part.
#[derive(Serialize, Deserialize)]
pub(super) struct Thought {
    /// The model whose thought it is. Another may not be able to read it, or not think at all and refuse it.
    pub(super) model: String,
    /// The item.
    pub(super) item: RawJson,
}

/// The items of a request.
pub(super) fn items<'a>(config: &'a ProviderConfig, request: &'a ModelRequest) -> Vec<Item<'a>> {
    let mut input = Input { config, model: &request.model, ids: HashMap::new(), items: Vec::new() };
    for message in &request.messages {
        match message.role {
            MessageRole::User => input.person(&message.parts),
            MessageRole::Assistant => input.assistant(message),
            MessageRole::Tool => input.results(&message.parts),
        }
    }
    input.items
}

struct Input<'a> {
    config: &'a ProviderConfig,
    model: &'a str,
    /// The ids under which the provider knows the calls so far.
    ids: HashMap<CallId, Cow<'a, str>>,
    items: Vec<Item<'a>>,
}

impl<'a> Input<'a> {
    fn person(&mut self, parts: &'a [Part]) {
        let mut content = Vec::new();
        for part in parts {
            match part {
                Part::Text { text, .. } if text.is_empty() => {}
                Part::Text { text, .. } => content.push(ContentPart::InputText { text: text.into() }),
                Part::Image { data, mime_type } if self.can_show(data, mime_type) => {
                    content.push(ContentPart::image(data, mime_type));
                }
                Part::Image { mime_type, .. } => {
                    content.push(ContentPart::InputText { text: result::unseen_picture(mime_type).into() });
                }
                // Not a person's.
                Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => {}
            }
        }
        if !content.is_empty() {
            self.message("user", Content::of(content), None);
        }
    }

    fn assistant(&mut self, message: &'a Message) {
        // A thought goes only before what came of it; without that it is refused.
        let mut thoughts = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text { text, opaque } if !text.is_empty() => {
                    self.items.append(&mut thoughts);
                    self.message("assistant", Content::Text(text.into()), self.own(opaque.as_ref(), "phase"));
                }
                Part::Thinking { opaque, .. } => thoughts.extend(self.thought(opaque.as_ref())),
                Part::ToolCall(call) => {
                    self.items.append(&mut thoughts);
                    let call_id = id(call, &self.config.name, CallIds::Any);
                    self.ids.insert(call.id, call_id.clone());
                    let (name, arguments) = (names::sent(&call.name), arguments(call));
                    self.items.push(Item::Call(CallItem {
                        r#type: "function_call",
                        call_id,
                        name,
                        arguments,
                    }));
                }
                Part::Text { .. } | Part::Image { .. } | Part::ToolResult(_) => {}
            }
        }
    }

    fn results(&mut self, parts: &'a [Part]) {
        for part in parts {
            match part {
                Part::ToolResult(result) => self.result(result),
                other => self.person(std::slice::from_ref(other)),
            }
        }
    }

    fn result(&mut self, result: &'a ToolResult) {
        let shows = self.config.switches.images;
        let place = if shows { Pictures::Beside } else { Pictures::Unseen };
        let text = result::said(result, place, USUAL_PICTURES);
        let mut content = vec![ContentPart::InputText { text: text.into() }];
        if shows {
            let pictures = result::pictures(&result.outcome, USUAL_PICTURES);
            content.extend(pictures.map(|(data, mime_type)| ContentPart::image(data, mime_type)));
        }
        let known = self.ids.get(&result.call_id).cloned();
        let call_id = known.unwrap_or_else(|| Cow::Owned(result.call_id.to_string()));
        let output = Content::of(content);
        self.items.push(Item::Output(OutputItem { r#type: "function_call_output", call_id, output }));
    }

    fn message(&mut self, role: &'static str, content: Content<'a>, phase: Option<RawJson>) {
        self.items.push(Item::Message(MessageItem { r#type: "message", role, content, phase }));
    }

    fn thought(&self, opaque: Option<&Opaque>) -> Option<Item<'a>> {
        let thought: Thought = opaque?.for_provider(&self.config.name)?.to().ok()?;
        (thought.model == self.model).then_some(Item::Reasoning(thought.item))
    }

    fn own(&self, opaque: Option<&Opaque>, field: &str) -> Option<RawJson> {
        let fields: HashMap<String, RawJson> = opaque?.for_provider(&self.config.name)?.to().ok()?;
        fields.get(field).cloned()
    }

    fn can_show(&self, data: &str, mime_type: &str) -> bool {
        self.config.switches.images && result::can_be_shown(data, mime_type, USUAL_PICTURES)
    }
}

impl<'a> ContentPart<'a> {
    fn image(data: &'a str, mime_type: &'a str) -> Self {
        Self::InputImage { image_url: DataUrl { mime_type, data }, detail: "auto" }
    }
}

impl<'a> Content<'a> {
    /// One text where it is nothing else.
    fn of(mut parts: Vec<ContentPart<'a>>) -> Self {
        if parts.len() == 1
            && let Some(ContentPart::InputText { text }) =
                parts.pop_if(|part| matches!(part, ContentPart::InputText { .. }))
        {
            return Self::Text(text);
        }
        Self::Parts(parts)
    }
}
