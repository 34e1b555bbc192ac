//! Converts rejections of the gateway's rules to responses.

use http::StatusCode;

use super::ApiError;
use super::error::unavailable;
use crate::access::{AgentForbidden, AgentWithoutCalls, RecordAccessDenied};
use crate::grants::InvalidGrant;
use crate::lifetime::InvalidLifetime;
use crate::query_limits::QueryLimitExceeded;
use crate::short_text::InvalidShortText;
use crate::sources::removal::DeviceRemovalError;

impl From<InvalidLifetime> for ApiError {
    fn from(invalid: InvalidLifetime) -> Self {
        Self::malformed(invalid.to_string())
    }
}

impl From<QueryLimitExceeded> for ApiError {
    fn from(exceeded: QueryLimitExceeded) -> Self {
        Self::malformed(exceeded.to_string())
    }
}

impl From<InvalidShortText> for ApiError {
    fn from(invalid: InvalidShortText) -> Self {
        let error = Self::malformed(invalid.to_string());
        match invalid {
            InvalidShortText::Invisible { .. } => error.with_hint("remove it"),
            InvalidShortText::Length { .. } | InvalidShortText::TitleTooLong(_) => error,
        }
    }
}

impl From<InvalidGrant> for ApiError {
    fn from(invalid: InvalidGrant) -> Self {
        let error = Self::malformed(invalid.to_string());
        match invalid {
            InvalidGrant::NoSource(_) => error.with_hint("for example pixel-8/camera, pixel-8/* or */*"),
            InvalidGrant::TwoSubjects => error,
        }
    }
}

impl From<AgentWithoutCalls> for ApiError {
    fn from(error: AgentWithoutCalls) -> Self {
        Self::malformed(error.to_string()).with_hint("leave out `agent`, or use the role client or companion")
    }
}

impl From<AgentForbidden> for ApiError {
    fn from(forbidden: AgentForbidden) -> Self {
        Self::new(StatusCode::FORBIDDEN, "agent_forbidden", forbidden.to_string())
            .with_hint("leave the agent out, or use a token that is bound to none")
    }
}

impl From<RecordAccessDenied> for ApiError {
    fn from(denied: RecordAccessDenied) -> Self {
        let hint = match denied {
            RecordAccessDenied::OthersRecords => "leave `principal` out",
            RecordAccessDenied::Removal => "leave out `calls`",
        };
        Self::new(StatusCode::FORBIDDEN, "forbidden", denied.to_string()).with_hint(hint)
    }
}

impl From<DeviceRemovalError> for ApiError {
    fn from(error: DeviceRemovalError) -> Self {
        match error {
            DeviceRemovalError::Token(error) => error.into(),
            DeviceRemovalError::Store(error) => unavailable(&error),
        }
    }
}
