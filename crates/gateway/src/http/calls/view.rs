//! Calls as they are shown.

use serde::{Deserialize, Serialize};
use toolway_core::ClosedCall;
use toolway_store::{CallRow, CallStatus};
use toolway_types::RawJson;
use utoipa::ToSchema;

use crate::access::TokenState;

/// A call.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CallSummary {
    /// Its id.
    pub(super) call_id: String,
    /// The name as the caller gave it.
    pub(super) name: String,
    /// The tool's id, `source/tool`, where the name led to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) tool: Option<String>,
    /// The tool's source.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) source: Option<String>,
    /// Who called: the token's id.
    pub(super) caller: String,
    /// With which role.
    pub(super) role: String,
    /// Through which door: `rest`, `websocket`, `agent`, `mcp` or `local`.
    pub(super) door: String,
    /// In which agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) agent: Option<String>,
    /// The conversation it belonged to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) session: Option<String>,
    /// The model's answer within that conversation that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) turn: Option<String>,
    /// `open`, `success` or `error`.
    pub(super) status: &'static str,
    /// The coarse reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) error_type: Option<String>,
    /// The fine reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) code: Option<String>,
    /// The failure in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) message: Option<String>,
    /// Who let it run, where that was asked: a token's id, or `grant:` and a grant's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) approved_by: Option<String>,
    /// The hooks that changed or cancelled something, in the order in which they did. For the owner.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hooks: Vec<String>,
    /// The policy rule that refused it. For the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) rule: Option<String>,
    /// When it started, in milliseconds since the Unix epoch.
    pub(super) started_ms: i64,
    /// How long it took, in milliseconds.
    pub(super) duration_ms: f64,
    /// Of that, waiting for a person.
    pub(super) waiting_ms: f64,
    /// Of that, waiting for its turn.
    pub(super) queued_ms: f64,
    /// Of that, the tool running.
    pub(super) running_ms: f64,
    /// How often the request was sent to the tool.
    pub(super) attempts: u32,
}

/// A call with what went in and what came out.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CallDetail {
    #[serde(flatten)]
    pub(super) call: CallSummary,
    /// The arguments, secrets replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, nullable = false)]
    pub(super) arguments: Option<RawJson>,
    /// The arguments it ran with where hooks changed them, secrets replaced. For the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, nullable = false)]
    pub(super) ran_with: Option<RawJson>,
    /// The envelope; with `"truncated": true` where it was longer than records may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, nullable = false)]
    pub(super) outcome: Option<RawJson>,
}

impl CallSummary {
    /// What this token is shown of a recorded call.
    pub(super) fn of(row: &CallRow, token: &TokenState) -> Self {
        #[derive(Deserialize)]
        struct OutcomeMessage {
            message: Option<String>,
        }
        let failed = row.outcome.as_ref().filter(|_| row.status == CallStatus::Error);
        let message = failed.and_then(|outcome| outcome.to::<OutcomeMessage>().ok()?.message);
        let whole = Self {
            call_id: row.call_id.to_string(),
            name: row.name.clone(),
            tool: row.tool.as_ref().map(ToString::to_string),
            source: row.tool.as_ref().map(|tool| tool.source.to_string()),
            caller: row.principal.to_string(),
            role: row.role.to_string(),
            door: row.door.as_str().to_owned(),
            agent: row.agent.clone(),
            session: row.session.clone(),
            turn: row.turn.clone(),
            status: match row.status {
                CallStatus::Open => "open",
                CallStatus::Success => "success",
                CallStatus::Error => "error",
            },
            error_type: row.error_type().map(|kind| kind.to_string()),
            code: row.code.map(|code| code.to_string()),
            message,
            approved_by: row.approved_by.clone(),
            hooks: row.hooks.clone(),
            rule: row.rule.clone(),
            started_ms: row.started_ms,
            duration_ms: millis(row.total_us),
            waiting_ms: millis(row.waiting_us),
            queued_ms: millis(row.queued_us),
            running_ms: millis(row.running_us),
            attempts: row.attempts,
        };
        whole.visible_to(token)
    }

    /// What this token is shown of a call that has just ended.
    pub(super) fn of_closed(call: &ClosedCall, token: &TokenState) -> Self {
        let (opened, error) = (&call.opened, call.outcome.error());
        let notes = call.notes.as_deref();
        let text = |text: &std::sync::Arc<str>| text.to_string();
        let millis = |duration: std::time::Duration| duration.as_secs_f64() * 1000.0;
        let whole = Self {
            call_id: opened.id.to_string(),
            name: opened.name.to_string(),
            tool: opened.tool.as_ref().map(ToString::to_string),
            source: opened.tool.as_ref().map(|tool| tool.source.to_string()),
            caller: opened.principal.to_string(),
            role: opened.role.to_string(),
            door: opened.via.as_str().to_owned(),
            agent: opened.agent.as_ref().map(text),
            session: opened.session.as_ref().map(text),
            turn: opened.turn.as_ref().map(text),
            status: if error.is_none() { "success" } else { "error" },
            error_type: error.map(|error| error.kind().to_string()),
            code: error.map(|error| error.code.to_string()),
            message: error.map(|error| error.message.clone()),
            approved_by: notes.and_then(|notes| notes.approved_by.as_ref()).map(text),
            hooks: notes.map(|notes| notes.hooks.iter().map(text).collect()).unwrap_or_default(),
            rule: notes.and_then(|notes| notes.rule.as_ref()).map(text),
            started_ms: opened.started_ms,
            duration_ms: millis(call.durations.total),
            waiting_ms: millis(call.durations.waiting),
            queued_ms: millis(call.durations.queued),
            running_ms: millis(call.durations.running),
            attempts: call.attempts,
        };
        whole.visible_to(token)
    }

    /// What the owner set up is the owner's to see: a rule's name would tell that what it refuses is there.
    fn visible_to(mut self, token: &TokenState) -> Self {
        if !token.role().is_owner() {
            self.hooks.clear();
            self.rule = None;
        }
        self
    }
}

impl CallDetail {
    /// What this token is shown of a recorded call.
    pub(super) fn of(row: CallRow, token: &TokenState) -> Self {
        Self {
            call: CallSummary::of(&row, token),
            arguments: row.arguments,
            ran_with: row.ran_with.filter(|_| token.role().is_owner()),
            outcome: row.outcome,
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "microseconds of a call fit")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}
