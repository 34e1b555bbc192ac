//! Truncates the outcome of a call to the length that a model may read, and adds a note with the number of omitted
//! bytes. The call record keeps more of the text.

use std::sync::Arc;

use toolway_types::{CallId, ContentPart, Outcome, ToolError, ToolOutput};

/// Truncates an outcome to at most `limit` bytes of text, and adds a note. A shorter outcome stays unchanged.
pub(super) fn truncate_for_model(outcome: &Arc<Outcome>, limit: usize, call: CallId) -> Arc<Outcome> {
    match outcome.as_ref() {
        Outcome::Success(output) if text_size(output) > limit => {
            Arc::new(Outcome::Success(truncate_output(output, limit, call)))
        }
        Outcome::Error(error) if error_size(error) > limit => {
            Arc::new(Outcome::Error(truncate_error(error.clone(), limit, call)))
        }
        _ => outcome.clone(),
    }
}

/// Returns the number of bytes that a model reads. If there is a structured value, the model reads it instead of the
/// text parts.
fn text_size(output: &ToolOutput) -> usize {
    let texts = output.content.iter().map(|part| match (part.as_text(), &output.structured) {
        (Some(text), None) => text.len(),
        (Some(_), Some(_)) => 0,
        (None, _) => inner_text(part).map_or(0, str::len),
    });
    texts.sum::<usize>() + output.structured.as_ref().map_or(0, |value| value.get().len())
}

/// Returns the text inside a resource or a resource link.
fn inner_text(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Resource { resource } => resource.get("text")?.as_str(),
        ContentPart::ResourceLink { description, .. } => description.as_deref(),
        ContentPart::Text { .. } | ContentPart::Image { .. } | ContentPart::Audio { .. } => None,
    }
}

/// Truncates an output. A structured value becomes text: it may be truncated, and then it is no longer JSON.
fn truncate_output(output: &ToolOutput, limit: usize, call: CallId) -> ToolOutput {
    let mut room = TextBudget { remaining: limit, dropped: 0 };
    let mut content = Vec::new();
    let structured = match &output.structured {
        Some(value) if value.get().len() > limit => {
            content.push(ContentPart::text(room.take_text(value.get())));
            None
        }
        Some(value) => {
            room.remaining -= value.get().len();
            Some(value.clone())
        }
        None => None,
    };
    for part in &output.content {
        match part.as_text() {
            Some(_) if output.structured.is_some() => {}
            Some(text) => {
                let kept = room.take_text(text);
                if !kept.is_empty() || text.is_empty() {
                    content.push(ContentPart::text(kept));
                }
            }
            None => content.push(room.truncate_part(part)),
        }
    }
    let note = truncation_note(room.dropped, call);
    match structured {
        // A model reads no text parts next to a structured value. It would miss the note, so the value becomes text.
        Some(value) => {
            content.insert(0, ContentPart::text(format!("{}\n{note}", value.get())));
        }
        None => content.push(ContentPart::text(note)),
    }
    ToolOutput::new(content, None)
}

/// Number of bytes that still fit, and number of dropped bytes.
struct TextBudget {
    remaining: usize,
    dropped: usize,
}

impl TextBudget {
    fn take_text<'t>(&mut self, text: &'t str) -> &'t str {
        let kept = text.get(..text.floor_char_boundary(self.remaining)).unwrap_or_default();
        // Parts after a truncated one are omitted.
        self.remaining = if kept.len() < text.len() { 0 } else { self.remaining - kept.len() };
        self.dropped += text.len() - kept.len();
        kept
    }

    fn truncate_part(&mut self, part: &ContentPart) -> ContentPart {
        let mut part = part.clone();
        match &mut part {
            ContentPart::Resource { resource } => {
                if let Some(serde_json::Value::String(text)) = resource.get_mut("text") {
                    *text = self.take_text(text).to_owned();
                }
            }
            ContentPart::ResourceLink { description: Some(text), .. } => {
                *text = self.take_text(text).to_owned()
            }
            _ => {}
        }
        part
    }
}

fn error_size(error: &ToolError) -> usize {
    let hint = error.hint.as_deref().map_or(0, str::len);
    error.message.len() + hint + error.authorize_intent.as_ref().map_or(0, |intent| intent.get().len())
}

/// Truncates the message first, then the hint. `authorize_intent` is kept whole or
/// dropped, because a part of it is useless.
fn truncate_error(mut error: ToolError, limit: usize, call: CallId) -> ToolError {
    let mut room = TextBudget { remaining: limit, dropped: 0 };
    let message = room.take_text(&error.message).to_owned();
    error.hint = error.hint.map(|hint| room.take_text(&hint).to_owned()).filter(|hint| !hint.is_empty());
    if let Some(intent) = error.authorize_intent.take_if(|intent| intent.get().len() > room.remaining) {
        room.dropped += intent.get().len();
    }
    error.original = None;
    error.message = format!("{message}\n{}", truncation_note(room.dropped, call));
    error
}

fn truncation_note(bytes: usize, call: CallId) -> String {
    format!("[truncated: {bytes} more bytes; the record of call {call} contains more]")
}

#[cfg(test)]
mod tests;
