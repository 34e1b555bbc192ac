//! What a model reads of a result: as much text as it can use, and a note of what was left out (the record of the
//! call keeps more).

use std::sync::Arc;

use toolway_types::{CallId, ContentPart, Outcome, ToolError, ToolOutput};

/// An outcome as a model is given it: at most `limit` bytes of text.
pub(super) fn for_model(outcome: &Arc<Outcome>, limit: usize, call: CallId) -> Arc<Outcome> {
    match outcome.as_ref() {
        Outcome::Success(output) if text_size(output) > limit => {
            Arc::new(Outcome::Success(cut(output, limit, call)))
        }
        Outcome::Error(error) if error_size(error) > limit => {
            Arc::new(Outcome::Error(cut_error(error.clone(), limit, call)))
        }
        _ => outcome.clone(),
    }
}

/// Bytes of text that a model reads. Where there is a structured value it is read in the place of the text.
fn text_size(output: &ToolOutput) -> usize {
    let texts = output.content.iter().map(|part| match (part.as_text(), &output.structured) {
        (Some(text), None) => text.len(),
        (Some(_), Some(_)) => 0,
        (None, _) => inner_text(part).map_or(0, str::len),
    });
    texts.sum::<usize>() + output.structured.as_ref().map_or(0, |value| value.get().len())
}

/// The text of a part that is no text part itself.
fn inner_text(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Resource { resource } => resource.get("text")?.as_str(),
        ContentPart::ResourceLink { description, .. } => description.as_deref(),
        ContentPart::Text { .. } | ContentPart::Image { .. } | ContentPart::Audio { .. } => None,
    }
}

/// A structured value that is too long is no value any more once it is cut, so it becomes text.
fn cut(output: &ToolOutput, limit: usize, call: CallId) -> ToolOutput {
    let mut room = Room { left: limit, dropped: 0 };
    let mut content = Vec::new();
    let structured = match &output.structured {
        Some(value) if value.get().len() > limit => {
            content.push(ContentPart::text(room.part_of(value.get())));
            None
        }
        Some(value) => {
            room.left -= value.get().len();
            Some(value.clone())
        }
        None => None,
    };
    for part in &output.content {
        match part.as_text() {
            Some(_) if output.structured.is_some() => {}
            Some(text) => {
                let kept = room.part_of(text);
                if !kept.is_empty() || text.is_empty() {
                    content.push(ContentPart::text(kept));
                }
            }
            None => content.push(room.with_part_of(part)),
        }
    }
    let note = note(room.dropped, call);
    match structured {
        // The note has to be read, and beside a value no text is.
        Some(value) => {
            content.insert(0, ContentPart::text(format!("{}\n{note}", value.get())));
        }
        None => content.push(ContentPart::text(note)),
    }
    ToolOutput { content, structured: None }
}

/// How much text there is still room for.
struct Room {
    left: usize,
    dropped: usize,
}

impl Room {
    fn part_of<'t>(&mut self, text: &'t str) -> &'t str {
        let kept = text.get(..text.floor_char_boundary(self.left)).unwrap_or_default();
        // What follows a part that was cut is left out.
        self.left = if kept.len() < text.len() { 0 } else { self.left - kept.len() };
        self.dropped += text.len() - kept.len();
        kept
    }

    fn with_part_of(&mut self, part: &ContentPart) -> ContentPart {
        let mut part = part.clone();
        match &mut part {
            ContentPart::Resource { resource } => {
                if let Some(serde_json::Value::String(text)) = resource.get_mut("text") {
                    *text = self.part_of(text).to_owned();
                }
            }
            ContentPart::ResourceLink { description: Some(text), .. } => {
                *text = self.part_of(text).to_owned()
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

/// The message first, then the hint. What is to be opened in an app can't be cut, so it stays or goes.
fn cut_error(mut error: ToolError, limit: usize, call: CallId) -> ToolError {
    let mut room = Room { left: limit, dropped: 0 };
    let message = room.part_of(&error.message).to_owned();
    error.hint = error.hint.map(|hint| room.part_of(&hint).to_owned()).filter(|hint| !hint.is_empty());
    if let Some(intent) = error.authorize_intent.take_if(|intent| intent.get().len() > room.left) {
        room.dropped += intent.get().len();
    }
    error.message = format!("{message}\n{}", note(room.dropped, call));
    error
}

fn note(bytes: usize, call: CallId) -> String {
    format!("[cut: {bytes} bytes more were left out; the record of call {call} has more of it]")
}

#[cfg(test)]
mod tests;
