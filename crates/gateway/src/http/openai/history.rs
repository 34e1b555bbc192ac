//! A conversation as its caller brings it, in the form in which agents read one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use toolway_models::{Message, MessageRole, Part, ToolCall, ToolResult};
use toolway_types::{CallId, Outcome, RawJson, ToolOutput};

use super::error::DoorError;
use crate::chat::input::{self, BadAttachment};

/// One message.
#[derive(Debug, Deserialize)]
pub(super) struct Said {
    role: String,
    content: Option<RawJson>,
    tool_calls: Option<Vec<Called>>,
    tool_call_id: Option<String>,
    refusal: Option<String>,
    function_call: Option<RawJson>,
}

#[derive(Debug, Deserialize)]
struct Called {
    id: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    function: Option<CalledFunction>,
}

#[derive(Debug, Deserialize)]
struct CalledFunction {
    name: String,
    arguments: RawJson,
}

/// A part of a message's content.
#[derive(Debug, Deserialize)]
struct Piece {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<ImageUrl>,
}

#[derive(Debug, Deserialize)]
struct ImageUrl {
    url: String,
}

/// The calls that were made, by the ids that the caller knows them by.
type Known = HashMap<String, (CallId, String)>;

/// System messages, and the others in their order.
///
/// # Errors
/// Which message can't be used, and why.
pub(super) fn read(said: Vec<Said>) -> Result<(Vec<String>, Vec<Message>), DoorError> {
    let (mut system, mut messages) = (Vec::new(), Vec::<Message>::new());
    let mut known = Known::new();
    for (at, message) in said.into_iter().enumerate() {
        let place = format!("messages[{at}]");
        match message.role.as_str() {
            "system" | "developer" => system.push(texts(&place, message.content.as_ref())?),
            "user" => {
                let parts = pieces(&place, message.content.as_ref(), true)?;
                if parts.is_empty() {
                    return Err(DoorError::invalid(format!("{place}.content"), "the message is empty"));
                }
                messages.push(Message { role: MessageRole::User, parts });
            }
            "assistant" => messages.extend(assistant(&place, message, &mut known)?),
            "tool" => {
                let result = result(&place, &message, &known)?;
                match messages.last_mut() {
                    // All results of one answer stand together.
                    Some(last) if last.role == MessageRole::Tool => last.parts.push(result),
                    _ => messages.push(Message { role: MessageRole::Tool, parts: vec![result] }),
                }
            }
            other => {
                let words = format!("{other:?} is none of system, developer, user, assistant and tool");
                return Err(DoorError::invalid(format!("{place}.role"), words));
            }
        }
    }
    if messages.is_empty() {
        return Err(DoorError::invalid("messages", "there is no message to answer"));
    }
    system.retain(|text| !text.trim().is_empty());
    Ok((system, messages))
}

fn assistant(place: &str, message: Said, known: &mut Known) -> Result<Option<Message>, DoorError> {
    if message.function_call.is_some() {
        let words = "function_call is not had here; use tool_calls";
        return Err(DoorError::unsupported(format!("{place}.function_call"), words));
    }
    let mut parts = pieces(place, message.content.as_ref(), false)?;
    parts.extend(message.refusal.filter(|text| !text.is_empty()).map(Part::text));
    let mut ids = HashSet::new();
    for (at, call) in message.tool_calls.unwrap_or_default().into_iter().enumerate() {
        let place = format!("{place}.tool_calls[{at}]");
        let Some(CalledFunction { name, arguments }) = call.function else {
            let kind = call.kind.unwrap_or_default();
            let words =
                format!("calls of the type {kind:?} are not had here; only those of the type function");
            return Err(DoorError::unsupported(place, words));
        };
        if !ids.insert(call.id.clone()) {
            return Err(DoorError::invalid(format!("{place}.id"), "another call of this message has it"));
        }
        let id = call.id.parse().unwrap_or_else(|_| CallId::new());
        known.insert(call.id, (id, name.clone()));
        // Text with JSON in it; some programs give the JSON itself.
        let arguments = arguments.to::<String>().unwrap_or_else(|_| arguments.get().to_owned());
        parts.push(Part::ToolCall(ToolCall { id, name, arguments, is_cut: false, opaque: None }));
    }
    // An answer of nothing says nothing.
    Ok((!parts.is_empty()).then_some(Message { role: MessageRole::Assistant, parts }))
}

fn result(place: &str, message: &Said, known: &Known) -> Result<Part, DoorError> {
    let Some(id) = &message.tool_call_id else {
        return Err(DoorError::invalid(format!("{place}.tool_call_id"), "it is missing"));
    };
    let Some((call_id, name)) = known.get(id) else {
        let words = format!("it answers no tool call before it: there is none of the id {id:?}");
        return Err(DoorError::invalid(format!("{place}.tool_call_id"), words));
    };
    let output = ToolOutput::text(texts(place, message.content.as_ref())?);
    let outcome = Arc::new(Outcome::Success(output));
    Ok(Part::ToolResult(ToolResult { verbatim: true, ..ToolResult::new(*call_id, name.clone(), outcome) }))
}

/// A content that may be nothing but text.
fn texts(place: &str, content: Option<&RawJson>) -> Result<String, DoorError> {
    let pieces = pieces(place, content, false)?;
    let texts: Vec<_> = pieces.iter().filter_map(Part::as_text).collect();
    Ok(texts.join("\n"))
}

fn pieces(place: &str, content: Option<&RawJson>, with_pictures: bool) -> Result<Vec<Part>, DoorError> {
    let place = format!("{place}.content");
    let Some(content) = content.filter(|content| content.get() != "null") else { return Ok(Vec::new()) };
    if let Ok(text) = content.to::<String>() {
        return Ok(if text.is_empty() { Vec::new() } else { vec![Part::text(text)] });
    }
    let pieces: Vec<Piece> = content.to().map_err(|error| {
        DoorError::invalid(&place, format!("neither a text nor a list of parts: {error}"))
    })?;
    let mut parts = Vec::with_capacity(pieces.len());
    for (at, piece) in pieces.into_iter().enumerate() {
        let place = format!("{place}[{at}]");
        let part = match (piece.kind.as_str(), piece.text, piece.refusal, piece.image_url) {
            ("text", Some(text), ..) | ("refusal", _, Some(text), _) => Part::text(text),
            ("image_url", _, _, Some(ImageUrl { url })) if with_pictures => picture(&place, &url)?,
            (kind @ ("text" | "refusal" | "image_url"), ..) if with_pictures || kind != "image_url" => {
                return Err(DoorError::invalid(place, format!("a part of the type {kind:?} without {kind}")));
            }
            (kind, ..) => {
                let words =
                    format!("a part of the type {kind:?} is not had here; only text, and pictures of a user");
                return Err(DoorError::unsupported(place, words));
            }
        };
        if part.as_text() != Some("") {
            parts.push(part);
        }
    }
    Ok(parts)
}

/// A picture that is in the request itself. None is fetched: what the gateway can reach is not the caller's to say.
fn picture(place: &str, url: &str) -> Result<Part, DoorError> {
    let place = format!("{place}.image_url.url");
    let Some(data) = url.get(..5).filter(|start| start.eq_ignore_ascii_case("data:")).and(url.get(5..))
    else {
        let words = "pictures are not fetched; give the picture itself as data:image/png;base64,…";
        return Err(DoorError::unsupported(place, words));
    };
    let Some((form, data)) = data.split_once(";base64,") else {
        return Err(DoorError::invalid(place, "not of the form data:image/png;base64,…"));
    };
    input::picture(data.to_owned(), form)
        .map_err(|bad: BadAttachment| DoorError::invalid(place, bad.to_string()))
}

#[cfg(test)]
mod tests;
