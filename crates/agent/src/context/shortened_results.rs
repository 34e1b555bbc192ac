//! A result of a tool that is left out: in its place stands what it was, how much, and where it can be seen.

use std::sync::Arc;

use toolway_models::{MessagePart, ModelMessage, ToolResult};
use toolway_types::{ContentPart, Outcome, ToolOutput};

use super::token_counter::{ContentSize, result_size};

/// Results that take less are not worth it.
const MIN_RESULT_BYTES: usize = 512;

/// Reports whether shortening a result saves space.
pub(super) fn saves_space(result: &ToolResult) -> bool {
    let ContentSize { bytes, images } = result_size(result);
    images > 0 || bytes > MIN_RESULT_BYTES
}

/// Number of results in a message whose shortening saves space.
pub(super) fn count_shortenable(message: &ModelMessage) -> usize {
    let worth_it =
        |part: &&MessagePart| matches!(part, MessagePart::ToolResult(result) if saves_space(result));
    message.parts.iter().filter(worth_it).count()
}

/// A message with its results left out, where that makes room.
pub(super) fn shortened_message(message: &ModelMessage) -> ModelMessage {
    let parts = message.parts.iter().map(|part| match part {
        MessagePart::ToolResult(result) if saves_space(result) => {
            MessagePart::ToolResult(placeholder(result))
        }
        other => other.clone(),
    });
    ModelMessage { role: message.role, parts: parts.collect() }
}

fn placeholder(result: &ToolResult) -> ToolResult {
    let (what, pictures) = match &*result.outcome {
        Outcome::Success(output) => ("Result", pictures(output)),
        Outcome::Error(error) => {
            // What went wrong is said in its first words.
            let start: String = error.message.chars().take(MIN_RESULT_BYTES / 4).collect();
            let error = toolway_types::ToolError {
                message: format!("{start}… [the rest is left out to make room]"),
                hint: None,
                original: None,
                ..error.clone()
            };
            let outcome = Arc::new(Outcome::Error(error));
            return ToolResult { outcome, ..result.clone() };
        }
    };
    let bytes = result_size(result).bytes;
    let text = format!(
        "[{what} left out to make room: {bytes} bytes{pictures}. `toolway calls show {}` has it; call the tool again \
         if you need it.]",
        result.call_id
    );
    ToolResult { outcome: Arc::new(Outcome::Success(ToolOutput::text(text))), ..result.clone() }
}

fn pictures(output: &ToolOutput) -> String {
    match output.content.iter().filter(|part| matches!(part, ContentPart::Image { .. })).count() {
        0 => String::new(),
        1 => " and a picture".to_owned(),
        count => format!(" and {count} pictures"),
    }
}
