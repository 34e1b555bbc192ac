//! Error responses for agents, models and conversations.

use http::StatusCode;
use toolway_agent::agents::{AgentError, NoSuchAgent};
use toolway_agent::conversations::{InvalidSessionId, OpenSessionError, SessionError, StartTurnError};
use toolway_agent::models::ModelLookupError;
use toolway_store::StoreError;

use super::ApiError;
use super::error::unavailable;
use crate::access::AgentForbidden;
use crate::chat::input::BadMessage;

fn owner_mismatch(words: String) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "session_owner_mismatch", words)
        .with_hint("omit the session to start your own")
}

fn shutting_down(words: String) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", words).with_hint("try again in a moment")
}

/// A hint with the existing names that are close to a wrong one.
fn suggest_names(close: &[String]) -> Option<String> {
    (!close.is_empty()).then(|| format!("did you mean {}?", close.join(" or ")))
}

/// An error of the database, or of a request that the database can't store.
fn store_error(error: StoreError) -> ApiError {
    let words = error.to_string();
    match error {
        StoreError::MessageTooLarge { .. } => {
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_large", words)
        }
        StoreError::BadCursor => ApiError::malformed(words),
        StoreError::SessionFull { .. } => ApiError::new(StatusCode::CONFLICT, "session_full", words),
        error => unavailable(&error),
    }
}

impl From<InvalidSessionId> for ApiError {
    fn from(bad: InvalidSessionId) -> Self {
        Self::malformed(bad.to_string())
    }
}

impl From<NoSuchAgent> for ApiError {
    fn from(unknown: NoSuchAgent) -> Self {
        let hint =
            suggest_names(&unknown.close).unwrap_or_else(|| "`toolway agents list` shows them".to_owned());
        Self::not_found("agent_not_found", unknown.to_string()).with_hint(hint)
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        let words = error.to_string();
        match error {
            AgentError::Invalid(_) => Self::malformed(words).with_hint("docs/agents.md describes the fields"),
            AgentError::InFile { .. } => Self::new(StatusCode::CONFLICT, "agent_in_file", words)
                .with_hint("change the file; the gateway reloads it automatically"),
            AgentError::CannotRemoveDefault => Self::new(StatusCode::CONFLICT, "agent_not_removable", words),
            AgentError::TooMany(_) => Self::new(StatusCode::CONFLICT, "too_many_agents", words)
                .with_hint("remove one with `toolway agents remove NAME`"),
            AgentError::Unknown(unknown) => unknown.into(),
            AgentError::Store(error) => unavailable(&error),
        }
    }
}

impl From<ModelLookupError> for ApiError {
    fn from(missing: ModelLookupError) -> Self {
        let words = missing.to_string();
        match missing {
            ModelLookupError::NoneConfigured => Self::not_found("model_provider_not_found", words)
                .with_hint("add one with `toolway models add`"),
            ModelLookupError::Unknown { close, .. } => {
                let hint =
                    suggest_names(&close).unwrap_or_else(|| "`toolway models list` shows them".to_owned());
                Self::not_found("model_provider_not_found", words).with_hint(hint)
            }
            ModelLookupError::NoDefaultModel { .. } => {
                Self::malformed(words).with_hint("write it as NAME/ID")
            }
        }
    }
}

impl From<BadMessage> for ApiError {
    fn from(bad: BadMessage) -> Self {
        let words = bad.to_string();
        match bad {
            BadMessage::Empty => Self::new(StatusCode::BAD_REQUEST, "empty_content", words),
            BadMessage::TooLong => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_large", words),
            BadMessage::TooMany(_) | BadMessage::Attachment { .. } => Self::malformed(words),
        }
    }
}

impl From<OpenSessionError> for ApiError {
    fn from(error: OpenSessionError) -> Self {
        let words = error.to_string();
        match error {
            OpenSessionError::OwnerMismatch => owner_mismatch(words),
            OpenSessionError::UnknownAgent(unknown) => unknown.into(),
            OpenSessionError::AgentForbidden { bound, asked } => AgentForbidden { bound, asked }.into(),
            OpenSessionError::InvalidId(bad) => bad.into(),
            OpenSessionError::ShuttingDown => shutting_down(words),
            OpenSessionError::Store(error) => store_error(error),
        }
    }
}

impl From<StartTurnError> for ApiError {
    fn from(refused: StartTurnError) -> Self {
        let words = refused.to_string();
        match refused {
            StartTurnError::Busy => Self::new(StatusCode::CONFLICT, "session_busy", words)
                .with_hint("wait until it ends, or abort it with POST /api/sessions/{id}/abort"),
            StartTurnError::NoUserMessage => Self::new(StatusCode::CONFLICT, "no_user_message", words),
            StartTurnError::EmptyContent => Self::new(StatusCode::BAD_REQUEST, "empty_content", words),
            StartTurnError::OwnerMismatch => owner_mismatch(words),
            StartTurnError::UnknownAgent(unknown) => unknown.into(),
            StartTurnError::AgentForbidden { bound, asked } => AgentForbidden { bound, asked }.into(),
            StartTurnError::InvalidId(bad) => bad.into(),
            StartTurnError::TooMany(_) | StartTurnError::ShareUsed(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_turns", words)
                    .with_hint("try again in a moment; the limit is the setting chat.max_concurrent_turns")
            }
            StartTurnError::NoMemory => Self::new(StatusCode::SERVICE_UNAVAILABLE, "out_of_memory", words)
                .with_hint("wait until some of them end; the limit is the setting limits.memory_bytes"),
            StartTurnError::ShuttingDown => shutting_down(words),
            StartTurnError::Store(error) => store_error(error),
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let words = error.to_string();
        match error {
            SessionError::Unknown(_) => {
                Self::not_found("session_not_found", words).with_hint("`toolway sessions list` shows them")
            }
            SessionError::OwnerMismatch => owner_mismatch(words),
            SessionError::OwnerRequired => {
                Self::new(StatusCode::FORBIDDEN, "forbidden", words).with_hint("leave `principal` out")
            }
            SessionError::ShuttingDown => shutting_down(words),
            SessionError::Store(error) => store_error(error),
        }
    }
}
