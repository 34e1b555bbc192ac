//! Converts the caller's messages to the form that agents read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use toolway_models::{MessagePart, MessageRole, ModelMessage, ToolCall, ToolResult};
use toolway_types::{CallId, Outcome, RawJson, ToolOutput};

use super::error::OpenAiApiError;
use crate::chat::input::{self, BadAttachment};

/// A message of the caller.
#[derive(Debug, Deserialize)]
pub(super) struct ChatCompletionMessageParam {
    role: String,
    content: Option<RawJson>,
    tool_calls: Option<Vec<ToolCallParam>>,
    tool_call_id: Option<String>,
    refusal: Option<String>,
    function_call: Option<RawJson>,
}

#[derive(Debug, Deserialize)]
struct ToolCallParam {
    id: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    function: Option<ToolCallFunctionParam>,
}

#[derive(Debug, Deserialize)]
struct ToolCallFunctionParam {
    name: String,
    arguments: RawJson,
}

/// A part of a message's content.
#[derive(Debug, Deserialize)]
struct ContentPartParam {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageUrlParam>,
}

#[derive(Debug, Deserialize)]
struct ImageUrlParam {
    url: String,
}

/// Earlier tool calls by the ids that the caller uses.
type KnownCallIds = HashMap<String, (CallId, String)>;

/// Returns the system messages, and the other messages in order.
///
/// # Errors
/// The field of the message that is invalid, and the reason.
pub(super) fn read_messages(
    said: Vec<ChatCompletionMessageParam>,
) -> Result<(Vec<String>, Vec<ModelMessage>), OpenAiApiError> {
    let (mut system, mut messages) = (Vec::new(), Vec::<ModelMessage>::new());
    let mut known = KnownCallIds::new();
    for (at, message) in said.into_iter().enumerate() {
        let place = format!("messages[{at}]");
        match message.role.as_str() {
            "system" | "developer" => system.push(read_text(&place, message.content.as_ref())?),
            "user" => {
                let parts = read_parts(&place, message.content.as_ref(), true)?;
                if parts.is_empty() {
                    return Err(OpenAiApiError::invalid(format!("{place}.content"), "the message is empty"));
                }
                messages.push(ModelMessage { role: MessageRole::User, parts });
            }
            "assistant" => messages.extend(read_assistant(&place, message, &mut known)?),
            "tool" => {
                let result = read_tool_result(&place, &message, &known)?;
                match messages.last_mut() {
                    // All results of one answer belong to one message.
                    Some(last) if last.role == MessageRole::Tool => last.parts.push(result),
                    _ => messages.push(ModelMessage { role: MessageRole::Tool, parts: vec![result] }),
                }
            }
            other => {
                let words = format!("{other:?} must be system, developer, user, assistant or tool");
                return Err(OpenAiApiError::invalid(format!("{place}.role"), words));
            }
        }
    }
    if messages.is_empty() {
        return Err(OpenAiApiError::invalid("messages", "there is no message to answer"));
    }
    system.retain(|text| !text.trim().is_empty());
    Ok((system, messages))
}

fn read_assistant(
    place: &str,
    message: ChatCompletionMessageParam,
    known: &mut KnownCallIds,
) -> Result<Option<ModelMessage>, OpenAiApiError> {
    if message.function_call.is_some() {
        let words = "function_call is not supported; use tool_calls";
        return Err(OpenAiApiError::unsupported(format!("{place}.function_call"), words));
    }
    let mut parts = read_parts(place, message.content.as_ref(), false)?;
    parts.extend(message.refusal.filter(|text| !text.is_empty()).map(MessagePart::text));
    let mut ids = HashSet::new();
    for (at, call) in message.tool_calls.unwrap_or_default().into_iter().enumerate() {
        let place = format!("{place}.tool_calls[{at}]");
        let Some(ToolCallFunctionParam { name, arguments }) = call.function else {
            let kind = call.kind.unwrap_or_default();
            let words = format!("calls of the type {kind:?} are not supported; use the type function");
            return Err(OpenAiApiError::unsupported(place, words));
        };
        if !ids.insert(call.id.clone()) {
            return Err(OpenAiApiError::invalid(
                format!("{place}.id"),
                "another call of this message has the same id",
            ));
        }
        let id = call.id.parse().unwrap_or_else(|_| CallId::new());
        known.insert(call.id, (id, name.clone()));
        // Arguments are JSON in a string; some programs send the JSON itself.
        let arguments = arguments.to::<String>().unwrap_or_else(|_| arguments.get().to_owned());
        parts.push(MessagePart::ToolCall(ToolCall { id, name, arguments, is_cut: false, opaque: None }));
    }
    // An empty answer is omitted.
    Ok((!parts.is_empty()).then_some(ModelMessage { role: MessageRole::Assistant, parts }))
}

fn read_tool_result(
    place: &str,
    message: &ChatCompletionMessageParam,
    known: &KnownCallIds,
) -> Result<MessagePart, OpenAiApiError> {
    let Some(id) = &message.tool_call_id else {
        return Err(OpenAiApiError::invalid(format!("{place}.tool_call_id"), "it is missing"));
    };
    let Some((call_id, name)) = known.get(id) else {
        let words = format!("no earlier tool call has the id {id:?}");
        return Err(OpenAiApiError::invalid(format!("{place}.tool_call_id"), words));
    };
    let output = ToolOutput::text(read_text(place, message.content.as_ref())?);
    let outcome = Arc::new(Outcome::Success(output));
    Ok(MessagePart::ToolResult(ToolResult {
        verbatim: true,
        ..ToolResult::new(*call_id, name.clone(), outcome)
    }))
}

/// Reads content that must be text only.
fn read_text(place: &str, content: Option<&RawJson>) -> Result<String, OpenAiApiError> {
    let pieces = read_parts(place, content, false)?;
    let texts: Vec<_> = pieces.iter().filter_map(MessagePart::as_text).collect();
    Ok(texts.join("\n"))
}

fn read_parts(
    place: &str,
    content: Option<&RawJson>,
    with_pictures: bool,
) -> Result<Vec<MessagePart>, OpenAiApiError> {
    let place = format!("{place}.content");
    let Some(content) = content.filter(|content| content.get() != "null") else { return Ok(Vec::new()) };
    if let Ok(text) = content.to::<String>() {
        return Ok(if text.is_empty() { Vec::new() } else { vec![MessagePart::text(text)] });
    }
    let pieces: Vec<ContentPartParam> = content.to().map_err(|error| {
        OpenAiApiError::invalid(&place, format!("must be a string or a list of parts: {error}"))
    })?;
    let mut parts = Vec::with_capacity(pieces.len());
    for (at, piece) in pieces.into_iter().enumerate() {
        let place = format!("{place}[{at}]");
        let part = match (piece.kind.as_str(), piece.text, piece.refusal, piece.image_url) {
            ("text", Some(text), ..) | ("refusal", _, Some(text), _) => MessagePart::text(text),
            ("image_url", _, _, Some(ImageUrlParam { url })) if with_pictures => read_image(&place, &url)?,
            (kind @ ("text" | "refusal" | "image_url"), ..) if with_pictures || kind != "image_url" => {
                return Err(OpenAiApiError::invalid(
                    place,
                    format!("a part of the type {kind:?} without {kind}"),
                ));
            }
            (kind, ..) => {
                let words = format!(
                    "a part of the type {kind:?} is not supported; use text, or images in user messages"
                );
                return Err(OpenAiApiError::unsupported(place, words));
            }
        };
        if part.as_text() != Some("") {
            parts.push(part);
        }
    }
    Ok(parts)
}

/// Reads an image that is included in the request. URLs are never fetched, because callers must not choose
/// what the gateway requests.
fn read_image(place: &str, url: &str) -> Result<MessagePart, OpenAiApiError> {
    let place = format!("{place}.image_url.url");
    let Some(data) = url.get(..5).filter(|start| start.eq_ignore_ascii_case("data:")).and(url.get(5..))
    else {
        let words = "images are not fetched; send the image as data:image/png;base64,…";
        return Err(OpenAiApiError::unsupported(place, words));
    };
    let Some((form, data)) = data.split_once(";base64,") else {
        return Err(OpenAiApiError::invalid(place, "must have the form data:image/png;base64,…"));
    };
    input::image_part(data.to_owned(), form)
        .map_err(|bad: BadAttachment| OpenAiApiError::invalid(place, bad.to_string()))
}

#[cfg(test)]
mod tests;
