//! The `error` messages for turns that were not started.

use toolway_agent::conversations::StartTurnError;
use toolway_store::StoreError;
use toolway_wire::error_code;
use toolway_wire::gateway_message::ErrorMessage;

use super::context::TurnAudience;
use crate::outbox::PeerGone;

/// Informs the client that a turn was not started.
pub(super) async fn send_turn_refusal(
    audience: &TurnAudience,
    refused: StartTurnError,
) -> Result<(), PeerGone> {
    let words = refused.to_string();
    let (code, hint) = match &refused {
        StartTurnError::Busy => (error_code::SESSION_BUSY, Some("wait until it ends, or send abort")),
        StartTurnError::NoUserMessage => (error_code::NO_USER_MESSAGE, None),
        StartTurnError::EmptyContent => (error_code::EMPTY_CONTENT, None),
        StartTurnError::OwnerMismatch => (error_code::SESSION_OWNER_MISMATCH, None),
        StartTurnError::InvalidId(_) => (error_code::SESSION_BIND_FAILED, None),
        StartTurnError::AgentForbidden { .. } => (error_code::FORBIDDEN, None),
        StartTurnError::TooMany(_) | StartTurnError::ShareUsed(_) | StartTurnError::NoMemory => {
            (error_code::LIMIT_EXCEEDED, Some("try again in a moment"))
        }
        StartTurnError::UnknownAgent(_) | StartTurnError::ShuttingDown => (error_code::AGENT_ERROR, None),
        StartTurnError::Store(StoreError::MessageTooLarge { .. }) => (error_code::LIMIT_EXCEEDED, None),
        StartTurnError::Store(StoreError::SessionFull { .. }) => {
            (error_code::LIMIT_EXCEEDED, Some("start another conversation"))
        }
        StartTurnError::Store(error) => {
            tracing::error!(%error, "cannot store a message");
            return audience
                .send_error(ErrorMessage {
                    message: "the message could not be stored; see the gateway's log".to_owned(),
                    code: Some(error_code::AGENT_ERROR.to_owned()),
                    ..ErrorMessage::default()
                })
                .await;
        }
    };
    audience
        .send_error(ErrorMessage {
            message: words,
            code: Some(code.to_owned()),
            hint: hint.filter(|_| audience.version >= 2).map(str::to_owned),
            ..ErrorMessage::default()
        })
        .await
}
