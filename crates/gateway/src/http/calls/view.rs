//! Converts calls to REST types.

use serde::Deserialize;
use toolway_api::calls::{CallDetail, CallSummary};
use toolway_core::ClosedCall;
use toolway_store::{CallRow, CallStatus};

use crate::access::{RecordAccess, TokenState};

/// Converts a recorded call, with the fields that the token may see.
pub(super) fn call_summary(row: &CallRow, token: &TokenState) -> CallSummary {
    #[derive(Deserialize)]
    struct OutcomeMessage {
        message: Option<String>,
    }
    let failed = row.outcome.as_ref().filter(|_| row.status == CallStatus::Error);
    let message = failed.and_then(|outcome| outcome.to::<OutcomeMessage>().ok()?.message);
    let whole = CallSummary {
        call_id: row.call_id.to_string(),
        name: row.name.clone(),
        tool_id: row.tool.as_ref().map(ToString::to_string),
        source: row.tool.as_ref().map(|tool| tool.source.to_string()),
        principal: row.principal.to_string(),
        role: Some(row.role.to_string()),
        via: Some(row.via.as_str().to_owned()),
        agent: row.agent.clone(),
        session_id: row.session.clone(),
        turn_id: row.turn.clone(),
        status: match row.status {
            CallStatus::Open => "running".to_owned(),
            CallStatus::Success => "success".to_owned(),
            CallStatus::Error => "error".to_owned(),
        },
        error_type: row.error_type().map(|kind| kind.to_string()),
        code: row.code.map(|code| code.to_string()),
        message,
        approved_by: row.approved_by.clone(),
        hooks: row.hooks.clone(),
        rule: row.rule.clone(),
        started_ms: row.started_ms,
        duration_ms: Some(millis(row.total_us)),
        user_wait_ms: Some(millis(row.waiting_us)),
        queued_ms: Some(millis(row.queued_us)),
        running_ms: Some(millis(row.running_us)),
        attempts: Some(row.attempts),
    };
    visible_to(token, whole)
}

/// Converts a call that has just ended, with the fields that the token may see.
pub(super) fn closed_call_summary(call: &ClosedCall, token: &TokenState) -> CallSummary {
    let (opened, error) = (&call.opened, call.outcome.error());
    let notes = call.notes.as_deref();
    let text = |text: &std::sync::Arc<str>| text.to_string();
    let millis = |duration: std::time::Duration| Some(duration.as_secs_f64() * 1000.0);
    let whole = CallSummary {
        call_id: opened.id.to_string(),
        name: opened.name.to_string(),
        tool_id: opened.tool.as_ref().map(ToString::to_string),
        source: opened.tool.as_ref().map(|tool| tool.source.to_string()),
        principal: opened.principal.to_string(),
        role: Some(opened.role.to_string()),
        via: Some(opened.via.as_str().to_owned()),
        agent: opened.agent.as_ref().map(text),
        session_id: opened.session.as_ref().map(text),
        turn_id: opened.turn.as_ref().map(text),
        status: if error.is_none() { "success".to_owned() } else { "error".to_owned() },
        error_type: error.map(|error| error.kind().to_string()),
        code: error.map(|error| error.code.to_string()),
        message: error.map(|error| error.message.clone()),
        approved_by: notes.and_then(|notes| notes.approved_by.as_ref()).map(text),
        hooks: notes.map(|notes| notes.hooks.iter().map(text).collect()).unwrap_or_default(),
        rule: notes.and_then(|notes| notes.rule.as_ref()).map(text),
        started_ms: opened.started_ms,
        duration_ms: millis(call.durations.total),
        user_wait_ms: millis(call.durations.waiting),
        queued_ms: millis(call.durations.queued),
        running_ms: millis(call.durations.running),
        attempts: Some(call.attempts),
    };
    visible_to(token, whole)
}

/// Converts a recorded call with its arguments and outcome, with the fields that the token may see.
pub(super) fn call_detail(row: CallRow, token: &TokenState) -> CallDetail {
    // What hooks add is private to the owner. Removed nulls are not.
    let sees_changes = RecordAccess::of(&token.principal).sees_owner_fields() || row.hooks.is_empty();
    CallDetail {
        call: call_summary(&row, token),
        arguments: row.arguments,
        effective_arguments: row.ran_with.filter(|_| sees_changes),
        outcome: row.outcome,
    }
}

/// Removes the owner's hooks and rules for other principals.
fn visible_to(token: &TokenState, mut call: CallSummary) -> CallSummary {
    if !RecordAccess::of(&token.principal).sees_owner_fields() {
        call.hooks.clear();
        call.rule = None;
    }
    call
}

#[allow(clippy::cast_precision_loss, reason = "microseconds of a call fit")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}
