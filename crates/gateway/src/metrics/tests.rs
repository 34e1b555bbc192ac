use std::sync::Arc;
use std::time::Duration;

use toolway_core::{Door as CallDoor, Durations, OpenedCall};
use toolway_types::{CallId, PrincipalId, Role, ToolError, ToolOutput};

use super::*;

fn ended(outcome: Outcome, total: Duration) -> ClosedCall {
    let opened = OpenedCall {
        id: CallId::new(),
        name: "x".into(),
        tool: None,
        principal: PrincipalId::from("owner"),
        role: Role::Owner,
        door: CallDoor::Rest,
        agent: None,
        session: None,
        turn: None,
        arguments: None,
        started_ms: 0,
        key: None,
    };
    ClosedCall {
        opened: Arc::new(opened),
        outcome: Arc::new(outcome),
        durations: Durations { total, ..Durations::default() },
        attempts: 1,
        notes: None,
    }
}

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.lines().any(|it| it == line), "no line {line:?} in\n{text}");
}

#[test]
fn what_happened_is_in_the_text() {
    let metrics = Metrics::default();
    metrics.call_ended(&ended(Outcome::Success(ToolOutput::text("x")), Duration::from_millis(2)));
    let failed = Outcome::Error(ToolError::new(Code::Network, "x"));
    metrics.call_ended(&ended(failed, Duration::from_secs(2)));
    metrics.result_discarded(ResultStatus::Late);
    metrics.result_discarded(ResultStatus::Accepted);
    metrics.refused("token_revoked");
    let chat = metrics.connection("chat");
    let _device = metrics.connection("device");
    let readings = Readings { records_lost: 3, calls_in_flight: 4, ..Readings::default() };
    let text = metrics.encode(readings).unwrap();
    for line in [
        "toolway_calls_total{status=\"success\",code=\"\"} 1",
        "toolway_calls_total{status=\"error\",code=\"network\"} 1",
        "toolway_calls_total{status=\"error\",code=\"timeout\"} 0",
        "toolway_call_duration_seconds_count 2",
        "toolway_call_duration_seconds_bucket{le=\"0.001\"} 0",
        "toolway_call_duration_seconds_bucket{le=\"0.0025\"} 1",
        "toolway_results_discarded_total{reason=\"late\"} 1",
        "toolway_refused_total{reason=\"token_revoked\"} 1",
        "toolway_sockets{door=\"chat\"} 1",
        "toolway_sockets{door=\"device\"} 1",
        "toolway_records_lost_total 3",
        "toolway_calls_in_flight 4",
        "# EOF",
    ] {
        has(&text, line);
    }
    drop(chat);
    has(&metrics.encode(Readings::default()).unwrap(), "toolway_sockets{door=\"chat\"} 0");
}

#[test]
fn reasons_do_not_grow_without_bound() {
    let metrics = Metrics::default();
    for number in 0..2 * REASONS {
        metrics.refused(&format!("made up {number}"));
    }
    let text = metrics.encode(Readings::default()).unwrap();
    has(&text, &format!("toolway_refused_total{{reason=\"other\"}} {REASONS}"));
}
