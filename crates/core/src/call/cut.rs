//! What a model reads of a result: as much text as it can use, and a note of what was left out (the record of the
//! call keeps more).

use std::sync::Arc;

use toolway_types::{CallId, ContentPart, Outcome, ToolOutput};

/// An outcome as a model is given it: at most `limit` bytes of text.
pub(super) fn for_model(outcome: &Arc<Outcome>, limit: usize, call: CallId) -> Arc<Outcome> {
    match outcome.as_ref() {
        Outcome::Success(output) if text_size(output) > limit => {
            Arc::new(Outcome::Success(cut(output, limit, call)))
        }
        Outcome::Error(error) if error.message.len() > limit => {
            let mut error = error.clone();
            error.message = shortened(&error.message, limit, call);
            Arc::new(Outcome::Error(error))
        }
        _ => outcome.clone(),
    }
}

fn text_size(output: &ToolOutput) -> usize {
    let texts = output.content.iter().filter_map(ContentPart::as_text).map(str::len);
    texts.sum::<usize>() + output.structured.as_ref().map_or(0, |value| value.get().len())
}

/// A structured value that is too long is no value any more once it is cut, so it becomes text.
fn cut(output: &ToolOutput, limit: usize, call: CallId) -> ToolOutput {
    if let Some(value) = &output.structured {
        let others = output.content.iter().filter(|part| part.as_text().is_none()).cloned();
        let text = ContentPart::text(shortened(value.get(), limit, call));
        return ToolOutput { content: std::iter::once(text).chain(others).collect(), structured: None };
    }
    let mut left = limit;
    let mut dropped = 0;
    let mut content = Vec::new();
    for part in &output.content {
        match part.as_text() {
            None => content.push(part.clone()),
            Some(text) if text.len() <= left => {
                left -= text.len();
                content.push(part.clone());
            }
            Some(text) => {
                let kept = text.get(..text.floor_char_boundary(left)).unwrap_or_default();
                dropped += text.len() - kept.len();
                left = 0;
                if !kept.is_empty() {
                    content.push(ContentPart::text(kept));
                }
            }
        }
    }
    content.push(ContentPart::text(note(dropped, call)));
    ToolOutput { content, structured: None }
}

fn shortened(text: &str, limit: usize, call: CallId) -> String {
    let kept = text.get(..text.floor_char_boundary(limit)).unwrap_or_default();
    format!("{kept}\n{}", note(text.len() - kept.len(), call))
}

fn note(bytes: usize, call: CallId) -> String {
    format!("[cut: {bytes} bytes more were left out; the record of call {call} has more of it]")
}

#[cfg(test)]
mod tests;
