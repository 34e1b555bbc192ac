//! A conversation as the list of messages that Chat Completions wants: tool calls beside the text of an answer, each
//! result a message of its own and text alone, pictures in a person's message that follows (pitfall M13).

use std::borrow::Cow;
use std::collections::HashMap;

use toolway_types::{CallId, RawJson};

use super::call;
use super::message::{Assistant, CalledFunction, Content, ContentPart, WireCall, WireMessage};
use crate::config::{OutputForm, ProviderConfig, ReasoningReplay};
use crate::message::{Message, MessageRole, Part, ToolResult};
use crate::names;
use crate::request::ModelRequest;
use crate::result::{self, Pictures, USUAL_PICTURES};

/// What a model is made to have said between a tool's result and a person's message, where a server takes no other
/// order.
const BRIDGE: &str = "(No answer was given.)";

/// The messages of a request, the instructions first.
pub(super) fn messages<'a>(config: &'a ProviderConfig, request: &'a ModelRequest) -> Vec<WireMessage<'a>> {
    let mut history = History {
        config,
        ids: HashMap::new(),
        written: Vec::with_capacity(request.messages.len() + 1),
        person: Vec::new(),
        after_tool: false,
    };
    let instructions = instructions(config, request);
    if !instructions.is_empty() {
        history.written.push(match config.switches.developer_role {
            true => WireMessage::Developer { content: instructions },
            false => WireMessage::System { content: instructions },
        });
    }
    for message in &request.messages {
        match message.role {
            MessageRole::User => history.person(&message.parts),
            MessageRole::Assistant => history.assistant(message),
            MessageRole::Tool => history.results(&message.parts),
        }
    }
    history.close_person();
    history.written
}

/// The instructions, with the schema of the answer where the server has no other place for it.
fn instructions<'a>(config: &ProviderConfig, request: &'a ModelRequest) -> Cow<'a, str> {
    match &request.output {
        Some(output) if config.switches.output != OutputForm::JsonSchema => {
            let before = if request.system.is_empty() { "" } else { "\n\n" };
            Cow::Owned(format!(
                "{}{before}Answer with one JSON value and nothing else. It must fit this JSON Schema: {}",
                request.system,
                output.schema.get()
            ))
        }
        _ => Cow::Borrowed(&request.system),
    }
}

struct History<'a> {
    config: &'a ProviderConfig,
    /// The ids under which the server knows the calls so far.
    ids: HashMap<CallId, Cow<'a, str>>,
    written: Vec<WireMessage<'a>>,
    /// Parts of a person's message that is not written yet: what follows may belong to it.
    person: Vec<ContentPart<'a>>,
    /// Whether the last message that was written is a tool's result.
    after_tool: bool,
}

impl<'a> History<'a> {
    fn person(&mut self, parts: &'a [Part]) {
        for part in parts {
            match part {
                Part::Text { text, .. } if text.is_empty() => {}
                Part::Text { text, .. } => self.person.push(ContentPart::text(text)),
                Part::Image { data, mime_type } => {
                    let picture = match self.can_show(data, mime_type) {
                        true => ContentPart::image(data, mime_type),
                        false => ContentPart::text(result::unseen_picture(mime_type)),
                    };
                    self.person.push(picture);
                }
                // Not a person's.
                Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => {}
            }
        }
    }

    fn assistant(&mut self, message: &'a Message) {
        let mut answer = Assistant::default();
        let mut text = Text::default();
        let mut thinking = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text { text: more, .. } => text.push(more),
                Part::Thinking { text: thought, opaque } => {
                    text.broken = true;
                    let data = opaque.as_ref().and_then(|opaque| opaque.for_provider(&self.config.name));
                    if let Some(data) = data {
                        thinking.push((thought.as_str(), data));
                    }
                }
                Part::ToolCall(call) => {
                    text.broken = true;
                    if !self.config.switches.tools {
                        text.push(&format!("[Called the tool {} with {}]", call.name, call::arguments(call)));
                        continue;
                    }
                    let id = call::id(call, &self.config.name, self.config.switches.call_ids);
                    self.ids.insert(call.id, id.clone());
                    answer.tool_calls.push(WireCall {
                        id,
                        r#type: "function",
                        function: CalledFunction {
                            name: names::sent(&call.name),
                            arguments: call::arguments(call),
                        },
                        extra_content: call::own_field(call, &self.config.name, "extra_content"),
                    });
                }
                Part::Image { .. } | Part::ToolResult(_) => {}
            }
        }
        if text.text.is_empty() && answer.tool_calls.is_empty() {
            return;
        }
        self.close_person();
        answer.content = match (text.text.is_empty(), self.config.switches.null_content) {
            (true, true) => None,
            _ => Some(Cow::Owned(text.text)),
        };
        match self.config.switches.reasoning_replay {
            ReasoningReplay::None => {}
            ReasoningReplay::Content => {
                let thought: String = thinking.iter().map(|(thought, _)| *thought).collect();
                answer.reasoning_content = Some(Cow::Owned(thought));
            }
            ReasoningReplay::Details => answer.reasoning_details = details(&thinking),
        }
        self.written.push(WireMessage::Assistant(answer));
        self.after_tool = false;
    }

    fn results(&mut self, parts: &'a [Part]) {
        self.close_person();
        let mut pictures = Vec::new();
        for part in parts {
            match part {
                Part::ToolResult(result) => pictures.extend(self.result(result)),
                other => self.person(std::slice::from_ref(other)),
            }
        }
        self.person.extend(pictures);
    }

    /// Writes a result, and gives the pictures in it, with a word on where they come from.
    fn result(&mut self, result: &'a ToolResult) -> Vec<ContentPart<'a>> {
        let switches = &self.config.switches;
        let follow = switches.images && switches.content_parts && switches.user_after_tool;
        let place = if follow { Pictures::Follow } else { Pictures::Unseen };
        let content = result::said(result, place, USUAL_PICTURES);
        if !switches.tools {
            return vec![ContentPart::text(format!("[Result of the tool {}] {content}", result.name))];
        }
        let id = self.ids.get(&result.call_id).cloned();
        let id = id.unwrap_or_else(|| Cow::Owned(result.call_id.to_string()));
        let mut pictures: Vec<_> = match follow {
            true => result::pictures(&result.outcome, USUAL_PICTURES)
                .map(|(data, mime_type)| ContentPart::image(data, mime_type))
                .collect(),
            false => Vec::new(),
        };
        if !pictures.is_empty() {
            let from = format!("[From the result of {} ({id})]", names::sent(&result.name));
            pictures.insert(0, ContentPart::text(from));
        }
        self.written.push(WireMessage::Tool { tool_call_id: id, content });
        self.after_tool = true;
        pictures
    }

    /// Writes the person's message that is under way. Two that follow each other are one: the turn between them
    /// came to nothing, and many models' templates want the roles to alternate.
    fn close_person(&mut self) {
        if self.person.is_empty() {
            return;
        }
        if std::mem::take(&mut self.after_tool) && !self.config.switches.user_after_tool {
            let content = Some(Cow::Borrowed(BRIDGE));
            self.written.push(WireMessage::Assistant(Assistant { content, ..Assistant::default() }));
        }
        let content = Content::of(std::mem::take(&mut self.person), self.config.switches.content_parts);
        self.written.push(WireMessage::User { content });
    }

    fn can_show(&self, data: &str, mime_type: &str) -> bool {
        let switches = &self.config.switches;
        switches.images && switches.content_parts && result::can_be_shown(data, mime_type, USUAL_PICTURES)
    }
}

/// Text of an answer. Parts that follow each other are one text; where something stood between, they are two.
#[derive(Default)]
struct Text {
    text: String,
    broken: bool,
}

impl Text {
    fn push(&mut self, more: &str) {
        if more.is_empty() {
            return;
        }
        if std::mem::take(&mut self.broken) && !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(more);
    }
}

/// All `reasoning_details` of an answer as one list.
fn details(thinking: &[(&str, &RawJson)]) -> Option<RawJson> {
    #[derive(serde::Deserialize)]
    struct Data {
        #[serde(default)]
        reasoning_details: Vec<RawJson>,
    }
    let data = thinking.iter().filter_map(|(_, data)| data.to::<Data>().ok());
    let all: Vec<_> = data.flat_map(|data| data.reasoning_details).collect();
    if all.is_empty() { None } else { RawJson::from_value(&all).ok() }
}
