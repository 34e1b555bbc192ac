//! A conversation as Gemini wants it: the results of all calls of one step together, in their order, under the names
//! of their functions (pitfall M7), and every signature on the part that it came with (pitfall M8).

use std::borrow::Cow;
use std::collections::HashMap;

use toolway_types::CallId;

use super::function_response::function_response;
use super::generation::{self, GeminiGeneration};
use super::part::{
    GeminiBlob, GeminiContent, GeminiFunctionCall, GeminiFunctionResponse, GeminiFunctionResponsePart,
    GeminiPart, GeminiRole,
};
use crate::call_arguments::arguments_json;
use crate::config::ProviderConfig;
use crate::message::{MessagePart, MessageRole, ModelMessage, OpaqueState, ToolCall, ToolResult};
use crate::opaque::OpaquePayload;
use crate::request::ModelRequest;
use crate::tool_names;
use crate::tool_result::{self, ImagePlacement};
use crate::tools::ConvertedTools;

/// Media types of images that Gemini accepts in messages, and in tool results.
const IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
const RESULT_IMAGE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/webp"];
/// Signature for calls of another model, as the API documents it.
const SIGNATURE_PLACEHOLDER: &str = "skip_thought_signature_validator";

/// The contents of a request.
pub(super) fn contents<'a>(
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
) -> Vec<GeminiContent<'a>> {
    let turn = request.messages.iter().rposition(|message| message.role == MessageRole::User);
    let mut history = GeminiContentsBuilder {
        config,
        request,
        tools,
        generation: generation::for_model(&request.model),
        calls: HashMap::new(),
        contents: Vec::with_capacity(request.messages.len()),
    };
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            MessageRole::User => history.add_user_message(message),
            MessageRole::Assistant => history.add_model_message(message, turn.is_none_or(|turn| at > turn)),
            MessageRole::Tool => history.add_results(message),
        }
    }
    let mut contents = history.contents;
    for content in contents.iter_mut().filter(|content| content.role == GeminiRole::User) {
        // Calls of one name that have no ids are told apart by nothing else. Stable: the rest keeps its order.
        content.parts.sort_by_key(|part| part.function_response.as_ref().map_or(usize::MAX, |of| of.at));
    }
    contents
}

struct GeminiContentsBuilder<'a> {
    config: &'a ProviderConfig,
    request: &'a ModelRequest,
    tools: &'a ConvertedTools,
    generation: GeminiGeneration,
    /// The calls so far: their numbers, and the ids that the API gave them.
    calls: HashMap<CallId, (usize, Option<Cow<'a, str>>)>,
    contents: Vec<GeminiContent<'a>>,
}

impl<'a> GeminiContentsBuilder<'a> {
    fn add_content(&mut self, role: GeminiRole, parts: Vec<GeminiPart<'a>>) {
        if parts.is_empty() {
            return;
        }
        let are_responses = parts.iter().any(GeminiPart::is_response);
        match self.contents.last_mut() {
            // A person's words do not stand among results: they begin a turn.
            Some(last)
                if last.role == role && are_responses == last.parts.iter().any(GeminiPart::is_response) =>
            {
                last.parts.extend(parts);
            }
            _ => self.contents.push(GeminiContent { role, parts }),
        }
    }

    fn add_user_message(&mut self, message: &'a ModelMessage) {
        let parts = message.parts.iter().filter_map(|part| match part {
            MessagePart::Text { text, .. } if text.is_empty() => None,
            MessagePart::Text { text, .. } => Some(GeminiPart::text(text.as_str())),
            MessagePart::Image { data, mime_type } => Some(image_part(data, mime_type)),
            // Not a person's.
            MessagePart::Thinking { .. } | MessagePart::ToolCall(_) | MessagePart::ToolResult(_) => None,
        });
        let parts = parts.collect();
        self.add_content(GeminiRole::User, parts);
    }

    /// `is_current`: whether it belongs to the turn that is under way, whose calls must be signed.
    fn add_model_message(&mut self, message: &'a ModelMessage, is_current: bool) {
        let mut parts = Vec::new();
        let mut is_first_call = true;
        for part in &message.parts {
            match part {
                MessagePart::Text { text, opaque } => {
                    let signature = self.signature(opaque.as_ref());
                    if !text.is_empty() || signature.is_some() {
                        parts.push(GeminiPart {
                            thought_signature: signature,
                            ..GeminiPart::text(text.as_str())
                        });
                    }
                }
                MessagePart::Thinking { text, opaque } => {
                    if let Some(signature) = self.signature(opaque.as_ref()) {
                        let thought_signature = Some(signature);
                        parts.push(GeminiPart {
                            thought: true,
                            thought_signature,
                            ..GeminiPart::text(text.as_str())
                        });
                    }
                }
                MessagePart::Image { data, mime_type } => {
                    parts.push(GeminiPart::text(tool_result::omitted_image_note(data, mime_type)))
                }
                MessagePart::ToolCall(call) => {
                    let signature = self.signature(call.opaque.as_ref());
                    // Of calls side by side only the first is signed.
                    let is_missed = is_first_call && is_current && self.generation.needs_signatures();
                    is_first_call = false;
                    let thought_signature =
                        signature.or_else(|| is_missed.then_some(Cow::Borrowed(SIGNATURE_PLACEHOLDER)));
                    let function_call = Some(self.call(call));
                    parts.push(GeminiPart { function_call, thought_signature, ..GeminiPart::default() });
                }
                MessagePart::ToolResult(_) => {}
            }
        }
        self.add_content(GeminiRole::Model, parts);
    }

    /// A signature of the requested model.
    fn signature(&self, opaque: Option<&OpaqueState>) -> Option<Cow<'a, str>> {
        OpaquePayload::from_opaque_of_model(opaque, self.config, &self.request.model)?
            .signature
            .map(Cow::Owned)
    }

    fn call(&mut self, call: &'a ToolCall) -> GeminiFunctionCall<'a> {
        let id = OpaquePayload::from_opaque(call.opaque.as_ref(), self.config).and_then(|kept| kept.id);
        let id: Option<Cow<'a, str>> = id.map(Cow::Owned);
        self.calls.insert(call.id, (self.calls.len(), id.clone()));
        GeminiFunctionCall {
            id,
            name: tool_names::wire_name(&call.name),
            args: arguments_json(call, self.tools),
        }
    }

    fn add_results(&mut self, message: &'a ModelMessage) {
        let (mut parts, mut pictures) = (Vec::new(), Vec::new());
        for part in &message.parts {
            match part {
                MessagePart::ToolResult(result) => parts.push(self.result(result, &mut pictures)),
                MessagePart::Text { text, .. } if !text.is_empty() => {
                    pictures.push(GeminiPart::text(text.as_str()))
                }
                MessagePart::Image { data, mime_type } => pictures.push(image_part(data, mime_type)),
                _ => {}
            }
        }
        // Nothing stands between the responses of a step.
        parts.append(&mut pictures);
        self.add_content(GeminiRole::User, parts);
    }

    fn result(&self, result: &'a ToolResult, pictures: &mut Vec<GeminiPart<'a>>) -> GeminiPart<'a> {
        let name = tool_names::wire_name(&result.name);
        let shown = tool_result::sendable_images(&result.outcome, RESULT_IMAGE_TYPES);
        let (place, parts) = if self.generation.takes_images_in_results() {
            let parts = shown.map(|(data, mime_type)| GeminiFunctionResponsePart {
                inline_data: GeminiBlob { mime_type, data },
            });
            (ImagePlacement::InResult, parts.collect())
        } else {
            let mut follow: Vec<_> =
                shown.map(|(data, mime_type)| GeminiPart::image(data, mime_type)).collect();
            if !follow.is_empty() {
                pictures.push(GeminiPart::text(format!("[From the result of {name}]")));
                pictures.append(&mut follow);
            }
            (ImagePlacement::InNextMessage, Vec::new())
        };
        let (at, id) = self.calls.get(&result.call_id).cloned().unwrap_or((usize::MAX, None));
        let response = GeminiFunctionResponse {
            at,
            id,
            name,
            response: function_response(&result.outcome, place, RESULT_IMAGE_TYPES),
            parts,
        };
        GeminiPart { function_response: Some(response), ..GeminiPart::default() }
    }
}

fn image_part<'a>(data: &'a str, mime_type: &'a str) -> GeminiPart<'a> {
    match tool_result::sendable_image_type(data, mime_type, IMAGE_TYPES) {
        Some(media_type) => GeminiPart::image(data, media_type),
        None => GeminiPart::text(tool_result::omitted_image_note(data, mime_type)),
    }
}
