//! Why something about agents, models and conversations was refused, in the form of REST.

use http::StatusCode;
use toolway_agent::agents::{AgentError, NoSuchAgent};
use toolway_agent::conversations::{BadSessionId, OpenError, SessionError, TurnRefused};
use toolway_agent::models::NoModel;
use toolway_store::StoreError;

use super::ApiError;
use super::error::unavailable;
use crate::chat::input::BadMessage;

/// A token that is bound to one agent asks for another.
pub(crate) fn agent_forbidden(bound: &str, asked: &str) -> ApiError {
    let words = format!("this token may talk to the agent {bound:?} only, not to {asked:?}");
    ApiError::new(StatusCode::FORBIDDEN, "agent_forbidden", words)
        .with_hint("leave the agent out, or use a token that is bound to none")
}

fn owner_mismatch(words: String) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "session_owner_mismatch", words)
        .with_hint("leave the session out to begin one of your own")
}

fn shutting_down(words: String) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", words).with_hint("try again in a moment")
}

/// What stands in for what was written wrongly.
fn meant(close: &[String]) -> Option<String> {
    (!close.is_empty()).then(|| format!("did you mean {}?", close.join(" or ")))
}

/// What the store can't keep is the request's fault, or the store's.
fn of_store(error: StoreError) -> ApiError {
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

impl From<BadSessionId> for ApiError {
    fn from(bad: BadSessionId) -> Self {
        Self::malformed(bad.to_string())
    }
}

impl From<NoSuchAgent> for ApiError {
    fn from(unknown: NoSuchAgent) -> Self {
        let hint = meant(&unknown.close).unwrap_or_else(|| "`toolway agents list` shows them".to_owned());
        Self::not_found("agent_unknown", unknown.to_string()).with_hint(hint)
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        let words = error.to_string();
        match error {
            AgentError::Invalid(_) => {
                Self::malformed(words).with_hint("docs/agents.md says what an agent may be")
            }
            AgentError::InFile { .. } => Self::new(StatusCode::CONFLICT, "agent_in_a_file", words)
                .with_hint("change the file; the gateway reads it again by itself"),
            AgentError::DefaultStays => Self::new(StatusCode::CONFLICT, "agent_stays", words),
            AgentError::TooMany(_) => Self::new(StatusCode::CONFLICT, "too_many_agents", words)
                .with_hint("`toolway agents remove` takes one away"),
            AgentError::Unknown(unknown) => unknown.into(),
            AgentError::Store(error) => unavailable(&error),
        }
    }
}

impl From<NoModel> for ApiError {
    fn from(missing: NoModel) -> Self {
        let words = missing.to_string();
        match missing {
            NoModel::NoneSetUp => {
                Self::not_found("model_unknown", words).with_hint("`toolway models add` sets one up")
            }
            NoModel::Unknown { close, .. } => {
                let hint = meant(&close).unwrap_or_else(|| "`toolway models list` shows them".to_owned());
                Self::not_found("model_unknown", words).with_hint(hint)
            }
            NoModel::NoId { .. } => Self::malformed(words).with_hint("write it as NAME/ID"),
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

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        let words = error.to_string();
        match error {
            OpenError::OwnerMismatch => owner_mismatch(words),
            OpenError::UnknownAgent(unknown) => unknown.into(),
            OpenError::AgentForbidden { bound, asked } => agent_forbidden(&bound, &asked),
            OpenError::BadId(bad) => bad.into(),
            OpenError::ShuttingDown => shutting_down(words),
            OpenError::Store(error) => of_store(error),
        }
    }
}

impl From<TurnRefused> for ApiError {
    fn from(refused: TurnRefused) -> Self {
        let words = refused.to_string();
        match refused {
            TurnRefused::Busy => Self::new(StatusCode::CONFLICT, "session_busy", words)
                .with_hint("wait for its end, or ask for it with POST /api/sessions/{id}/abort"),
            TurnRefused::NoUserMessage => Self::new(StatusCode::CONFLICT, "no_user_message", words),
            TurnRefused::Empty => Self::new(StatusCode::BAD_REQUEST, "empty_content", words),
            TurnRefused::OwnerMismatch => owner_mismatch(words),
            TurnRefused::UnknownAgent(unknown) => unknown.into(),
            TurnRefused::AgentForbidden { bound, asked } => agent_forbidden(&bound, &asked),
            TurnRefused::BadId(bad) => bad.into(),
            TurnRefused::TooMany(_) => Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_turns", words)
                .with_hint("try again in a moment; the limit is the setting chat.turns"),
            TurnRefused::ShuttingDown => shutting_down(words),
            TurnRefused::Store(error) => of_store(error),
        }
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let words = error.to_string();
        match error {
            SessionError::Unknown(_) => {
                Self::not_found("session_unknown", words).with_hint("`toolway sessions list` shows them")
            }
            SessionError::OwnerMismatch => owner_mismatch(words),
            SessionError::OwnersOnly => {
                Self::new(StatusCode::FORBIDDEN, "forbidden", words).with_hint("leave `principal` out")
            }
            SessionError::ShuttingDown => shutting_down(words),
            SessionError::Store(error) => of_store(error),
        }
    }
}
