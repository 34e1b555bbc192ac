//! The body of a chat request.

use toolway_agent::turn::TurnInput;
use toolway_api::chat::ChatRequest;

use crate::chat::input;
use crate::http::ApiError;
use crate::http::token_input::read_text;

/// A checked request.
#[derive(Debug)]
pub(super) struct ChatTurnRequest {
    pub(super) session_id: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) input: TurnInput,
    pub(super) debug: bool,
    pub(super) stream: bool,
    pub(super) is_interactive: bool,
}

/// Checks a request. It reads whole images, so it may take some milliseconds.
pub(super) fn read_request(body: ChatRequest) -> Result<ChatTurnRequest, ApiError> {
    let text = |field: &str, given: Option<String>| given.map(|it| read_text(field, it)).transpose();
    let attachments = body.attachments.unwrap_or_default();
    let input = match (body.regenerate.unwrap_or_default(), body.content) {
        (false, content) => {
            TurnInput::Message(input::message_parts(content.unwrap_or_default(), &attachments)?)
        }
        (true, None) if attachments.is_empty() => TurnInput::Regenerate,
        (true, _) => {
            let message = "regenerate answers the last message again, so it takes no content";
            return Err(ApiError::malformed(message).with_hint("leave out content and attachments"));
        }
    };
    Ok(ChatTurnRequest {
        // Some programs write a missing field as this text.
        session_id: text("session_id", body.session_id.filter(|id| id != "null"))?,
        agent: text("agent", body.agent)?,
        input,
        debug: body.debug.unwrap_or_default(),
        stream: body.stream.unwrap_or(true),
        is_interactive: body.interactive.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
