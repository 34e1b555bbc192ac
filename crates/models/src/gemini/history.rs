//! A conversation as Gemini wants it: the results of all calls of one step together, in their order, under the names
//! of their functions (pitfall M7), and every signature on the part that it came with (pitfall M8).

use std::borrow::Cow;
use std::collections::HashMap;

use toolway_types::CallId;

use super::generation::{self, Generation};
use super::part::{Blob, Call, Content, Response, ResponsePart, Role, WirePart};
use super::response::response;
use crate::config::ProviderConfig;
use crate::message::{Message, MessageRole, Opaque, Part, ToolCall, ToolResult};
use crate::names;
use crate::opaque::{Kept, arguments};
use crate::request::ModelRequest;
use crate::result::{self, Pictures};
use crate::tools::ConvertedTools;

/// Media types of pictures that Gemini reads, and of those that it reads in results.
const PICTURES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const RESULT_PICTURES: &[&str] = &["image/png", "image/jpeg", "image/webp"];
/// What stands in place of a signature where a call is another model's, as the API wants it then.
const FOREIGN: &str = "skip_thought_signature_validator";

/// The contents of a request.
pub(super) fn contents<'a>(
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
) -> Vec<Content<'a>> {
    let turn = request.messages.iter().rposition(|message| message.role == MessageRole::User);
    let mut history = History {
        config,
        request,
        tools,
        generation: generation::of(&request.model),
        calls: HashMap::new(),
        written: Vec::with_capacity(request.messages.len()),
    };
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            MessageRole::User => history.person(message),
            MessageRole::Assistant => history.model(message, turn.is_none_or(|turn| at > turn)),
            MessageRole::Tool => history.results(message),
        }
    }
    let mut contents = history.written;
    for content in contents.iter_mut().filter(|content| content.role == Role::User) {
        // Calls of one name that have no ids are told apart by nothing else. Stable: the rest keeps its order.
        content.parts.sort_by_key(|part| part.function_response.as_ref().map_or(usize::MAX, |of| of.at));
    }
    contents
}

struct History<'a> {
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
    generation: Generation,
    /// The calls so far: their numbers, and the ids that the API gave them.
    calls: HashMap<CallId, (usize, Option<Cow<'a, str>>)>,
    written: Vec<Content<'a>>,
}

impl<'a> History<'a> {
    fn write(&mut self, role: Role, parts: Vec<WirePart<'a>>) {
        if parts.is_empty() {
            return;
        }
        let are_responses = parts.iter().any(WirePart::is_response);
        match self.written.last_mut() {
            // A person's words do not stand among results: they begin a turn.
            Some(last)
                if last.role == role && are_responses == last.parts.iter().any(WirePart::is_response) =>
            {
                last.parts.extend(parts);
            }
            _ => self.written.push(Content { role, parts }),
        }
    }

    fn person(&mut self, message: &'a Message) {
        let parts = message.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } if text.is_empty() => None,
            Part::Text { text, .. } => Some(WirePart::text(text.as_str())),
            Part::Image { data, mime_type } => Some(picture(data, mime_type)),
            // Not a person's.
            Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => None,
        });
        let parts = parts.collect();
        self.write(Role::User, parts);
    }

    /// `is_current`: whether it belongs to the turn that is under way, whose calls must be signed.
    fn model(&mut self, message: &'a Message, is_current: bool) {
        let mut parts = Vec::new();
        let mut is_first_call = true;
        for part in &message.parts {
            match part {
                Part::Text { text, opaque } => {
                    let signature = self.signature(opaque.as_ref());
                    if !text.is_empty() || signature.is_some() {
                        parts
                            .push(WirePart { thought_signature: signature, ..WirePart::text(text.as_str()) });
                    }
                }
                Part::Thinking { text, opaque } => {
                    if let Some(signature) = self.signature(opaque.as_ref()) {
                        let thought_signature = Some(signature);
                        parts.push(WirePart {
                            thought: true,
                            thought_signature,
                            ..WirePart::text(text.as_str())
                        });
                    }
                }
                Part::Image { mime_type, .. } => {
                    parts.push(WirePart::text(result::unseen_picture(mime_type)))
                }
                Part::ToolCall(call) => {
                    let signature = self.signature(call.opaque.as_ref());
                    // Of calls side by side only the first is signed.
                    let is_missed = is_first_call && is_current && self.generation.needs_signatures();
                    is_first_call = false;
                    let thought_signature = signature.or_else(|| is_missed.then_some(Cow::Borrowed(FOREIGN)));
                    let function_call = Some(self.call(call));
                    parts.push(WirePart { function_call, thought_signature, ..WirePart::default() });
                }
                Part::ToolResult(_) => {}
            }
        }
        self.write(Role::Model, parts);
    }

    /// A signature of the model that is asked.
    fn signature(&self, opaque: Option<&Opaque>) -> Option<Cow<'a, str>> {
        Kept::of_model(opaque, self.config, &self.request.model)?.signature.map(Cow::Owned)
    }

    fn call(&mut self, call: &'a ToolCall) -> Call<'a> {
        let id = Kept::of(call.opaque.as_ref(), self.config).and_then(|kept| kept.id);
        let id: Option<Cow<'a, str>> = id.map(Cow::Owned);
        self.calls.insert(call.id, (self.calls.len(), id.clone()));
        Call { id, name: names::sent(&call.name), args: arguments(call, self.tools) }
    }

    fn results(&mut self, message: &'a Message) {
        let (mut parts, mut pictures) = (Vec::new(), Vec::new());
        for part in &message.parts {
            match part {
                Part::ToolResult(result) => parts.push(self.result(result, &mut pictures)),
                Part::Text { text, .. } if !text.is_empty() => pictures.push(WirePart::text(text.as_str())),
                Part::Image { data, mime_type } => pictures.push(picture(data, mime_type)),
                _ => {}
            }
        }
        // Nothing stands between the responses of a step.
        parts.append(&mut pictures);
        self.write(Role::User, parts);
    }

    fn result(&self, result: &'a ToolResult, pictures: &mut Vec<WirePart<'a>>) -> WirePart<'a> {
        let name = names::sent(&result.name);
        let shown = result::pictures(&result.outcome, RESULT_PICTURES);
        let (place, parts) = if self.generation.takes_pictures_in_results() {
            let parts = shown.map(|(data, mime_type)| ResponsePart { inline_data: Blob { mime_type, data } });
            (Pictures::Beside, parts.collect())
        } else {
            let mut follow: Vec<_> =
                shown.map(|(data, mime_type)| WirePart::picture(data, mime_type)).collect();
            if !follow.is_empty() {
                pictures.push(WirePart::text(format!("[From the result of {name}]")));
                pictures.append(&mut follow);
            }
            (Pictures::Follow, Vec::new())
        };
        let (at, id) = self.calls.get(&result.call_id).cloned().unwrap_or((usize::MAX, None));
        let response =
            Response { at, id, name, response: response(&result.outcome, place, RESULT_PICTURES), parts };
        WirePart { function_response: Some(response), ..WirePart::default() }
    }
}

fn picture<'a>(data: &'a str, mime_type: &'a str) -> WirePart<'a> {
    if result::can_be_shown(data, mime_type, PICTURES) {
        WirePart::picture(data, mime_type)
    } else {
        WirePart::text(result::unseen_picture(mime_type))
    }
}
