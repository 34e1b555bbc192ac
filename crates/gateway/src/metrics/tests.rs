use std::sync::Arc;
use std::time::Duration;

use toolway_core::{CallDurations, EntryPoint, OpenedCall};
use toolway_types::{CallId, PrincipalId, Role, ToolError, ToolOutput};

use super::*;

fn ended(outcome: Outcome, total: Duration) -> ClosedCall {
    let opened = OpenedCall {
        id: CallId::new(),
        name: "x".into(),
        tool: None,
        principal: PrincipalId::from("owner"),
        role: Role::Owner,
        via: EntryPoint::Rest,
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
        durations: CallDurations { total, ..CallDurations::default() },
        attempts: 1,
        notes: None,
    }
}

#[track_caller]
fn has(text: &str, line: &str) {
    assert!(text.lines().any(|it| it == line), "no line {line:?} in\n{text}");
}

#[test]
fn all_events_are_counted_in_the_output() {
    let metrics = GatewayMetrics::default();
    metrics.record_call(&ended(Outcome::Success(ToolOutput::text("x")), Duration::from_millis(2)));
    let failed = Outcome::Error(ToolError::new(Code::Network, "x"));
    metrics.record_call(&ended(failed, Duration::from_secs(2)));
    metrics.record_discarded_result(ResultStatus::Late);
    metrics.record_discarded_result(ResultStatus::Accepted);
    metrics.record_refusal("token_revoked");
    let chat = metrics.track_socket("chat");
    let _device = metrics.track_socket("device");
    let readings = MetricsSnapshot { records_lost: 3, calls_in_flight: 4, ..MetricsSnapshot::default() };
    let text = metrics.encode(readings).unwrap();
    for line in [
        "toolway_calls_total{status=\"success\",code=\"\"} 1",
        "toolway_calls_total{status=\"error\",code=\"network\"} 1",
        "toolway_calls_total{status=\"error\",code=\"timeout\"} 0",
        "toolway_call_duration_seconds_count 2",
        "toolway_call_duration_seconds_bucket{le=\"0.001\"} 0",
        "toolway_call_duration_seconds_bucket{le=\"0.0025\"} 1",
        "toolway_results_discarded_total{reason=\"late\"} 1",
        "toolway_requests_refused_total{code=\"token_revoked\"} 1",
        "toolway_websockets{endpoint=\"chat\"} 1",
        "toolway_websockets{endpoint=\"device\"} 1",
        "toolway_call_records_lost_total 3",
        "toolway_calls_in_flight 4",
        "# EOF",
    ] {
        has(&text, line);
    }
    drop(chat);
    has(&metrics.encode(MetricsSnapshot::default()).unwrap(), "toolway_websockets{endpoint=\"chat\"} 0");
}

#[test]
fn the_number_of_codes_is_limited() {
    let metrics = GatewayMetrics::default();
    for number in 0..2 * MAX_REFUSAL_CODES {
        metrics.record_refusal(&format!("made up {number}"));
    }
    let text = metrics.encode(MetricsSnapshot::default()).unwrap();
    has(&text, &format!("toolway_requests_refused_total{{code=\"other\"}} {MAX_REFUSAL_CODES}"));
}
