//! Creates the usage records of requests to models.

use std::sync::Arc;
use std::time::Duration;

use toolway_models::{FinishReason, ModelErrorKind, ModelUsage};
use toolway_store::{ModelRequestRecord, RequestStatus, TokenCounts};
use toolway_types::Principal;

use super::deps::TurnDeps;
use super::model_response::{ModelResponse, ModelResponseEnd};
use crate::models::ModelRef;
use crate::prices::Cost;

/// Principal, agent, session and turn of requests.
#[derive(Debug, Clone)]
pub(crate) struct RequestAttribution {
    pub(crate) principal: Arc<Principal>,
    pub(crate) agent: Arc<str>,
    /// The session, if there is one.
    pub(crate) session: Option<Arc<str>>,
    /// The turn, if it is stored.
    pub(crate) turn: Option<Arc<str>>,
}

impl RequestAttribution {
    /// Creates the record of a request. Returns its cost, if known.
    pub(super) fn request_record(
        &self,
        around: &TurnDeps,
        model: &ModelRef,
        started_ms: i64,
        answer: &ModelResponse,
    ) -> (ModelRequestRecord, Option<Cost>) {
        let usage = answer.collected.usage;
        let cost = around.prices.table().cost(&model.name(), &usage);
        if let Some(cost) = &cost {
            around.budgets.record_spending(&self.principal.id.0, cost, started_ms);
        }
        let (status, code) = match &answer.end {
            ModelResponseEnd::Complete => (RequestStatus::Answered, None),
            ModelResponseEnd::Failed(error) => (RequestStatus::Failed, Some(error_code(error.kind))),
            ModelResponseEnd::Interrupted => (RequestStatus::Failed, Some("broke_off")),
            ModelResponseEnd::TooLong => (RequestStatus::GivenUp, Some("too_long")),
            ModelResponseEnd::Stopped(_) | ModelResponseEnd::TimedOut => (RequestStatus::GivenUp, None),
        };
        let record = ModelRequestRecord {
            turn: self.turn.as_deref().map(str::to_owned),
            session: self.session.as_deref().map(str::to_owned),
            principal: self.principal.id.to_string(),
            agent: self.agent.to_string(),
            provider: model.provider.name().to_string(),
            model: model.id.to_string(),
            started_ms,
            duration_ms: millis(answer.duration),
            first_token_ms: answer.time_to_first_token.map(millis),
            attempts: answer.attempts,
            status,
            code: code.map(str::to_owned),
            tokens: token_counts(usage),
            cost: cost.as_ref().map(|cost| cost.amount),
            currency: cost.as_ref().map(|cost| cost.currency.to_string()),
        };
        (record, cost)
    }
}

pub(super) fn token_counts(usage: ModelUsage) -> TokenCounts {
    let ModelUsage { input, output, cached, cache_written, reasoning } = usage;
    TokenCounts { input, output, cached, cache_written, reasoning }
}

/// Returns the name of the reason why an answer ended.
pub(super) fn finish_code(finish: &FinishReason) -> String {
    match finish {
        FinishReason::Stop => "stop",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::ContextExceeded => "context_exceeded",
        FinishReason::Refused => "refused",
        FinishReason::Paused => "paused",
        FinishReason::MalformedToolCall => "malformed_tool_call",
        FinishReason::Other(word) => word,
    }
    .to_owned()
}

fn error_code(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Auth => "auth",
        ModelErrorKind::ModelNotFound => "model_not_found",
        ModelErrorKind::RateLimited => "rate_limited",
        ModelErrorKind::Overloaded => "overloaded",
        ModelErrorKind::InvalidRequest => "invalid_request",
        ModelErrorKind::ContextTooLong => "context_too_long",
        ModelErrorKind::Network => "network",
        ModelErrorKind::Timeout => "timeout",
        ModelErrorKind::Protocol => "protocol",
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
