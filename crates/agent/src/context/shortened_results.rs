//! Shortens tool results to a note with their type, their size and the place where they can be read.

use std::sync::Arc;

use toolway_models::{MessagePart, ModelMessage, ToolResult};
use toolway_types::{ContentPart, Outcome, ToolOutput};

use super::token_counter::{ContentSize, result_size};

/// Size below which results are not shortened.
const MIN_RESULT_BYTES: usize = 512;

/// Returns whether shortening a result saves space.
pub(super) fn saves_space(result: &ToolResult) -> bool {
    let ContentSize { bytes, images } = result_size(result);
    images > 0 || bytes > MIN_RESULT_BYTES
}

/// Returns the number of results in a message whose shortening saves space.
pub(super) fn count_shortenable(message: &ModelMessage) -> usize {
    let worth_it =
        |part: &&MessagePart| matches!(part, MessagePart::ToolResult(result) if saves_space(result));
    message.parts.iter().filter(worth_it).count()
}

/// Returns a message with shortened results, if that saves space.
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
            // The first words describe the error.
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
