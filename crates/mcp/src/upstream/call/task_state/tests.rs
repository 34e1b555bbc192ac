use super::*;

fn state(fields: &str) -> Result<TaskState, UpstreamError> {
    TaskState::parse(&RawJson::parse(&format!("{{{fields}}}")).unwrap())
}

#[test]
fn the_poll_interval_has_a_default_and_limits_in_both_versions() {
    for (fields, wanted) in [
        ("", DEFAULT_POLL_INTERVAL),
        (r#","pollIntervalMs":null"#, DEFAULT_POLL_INTERVAL),
        (r#","pollIntervalMs":2500"#, Duration::from_millis(2500)),
        (r#","pollInterval":250"#, Duration::from_millis(250)),
        (r#","pollIntervalMs":0"#, MIN_POLL_INTERVAL),
        (r#","pollInterval":-5"#, MIN_POLL_INTERVAL),
        (r#","pollIntervalMs":1e300"#, MAX_POLL_INTERVAL),
    ] {
        let state = state(&format!(r#""taskId":"t","status":"working"{fields}"#)).unwrap();
        assert_eq!(state.poll_interval, wanted, "{fields}");
    }
}

#[test]
fn a_state_that_is_none_is_refused() {
    let long = "x".repeat(MAX_TASK_ID + 1);
    for fields in [
        r#""status":"working""#.to_owned(),
        r#""taskId":"","status":"working""#.to_owned(),
        r#""taskId":7,"status":"working""#.to_owned(),
        r#""taskId":"t""#.to_owned(),
        r#""taskId":"t","status":"asleep""#.to_owned(),
        format!(r#""taskId":"{long}","status":"working""#),
    ] {
        assert!(matches!(state(&fields), Err(UpstreamError::Malformed(_))), "{fields}");
    }
}

#[test]
fn a_status_message_is_cut() {
    let long = "x".repeat(2 * MAX_STATUS_MESSAGE);
    let state = state(&format!(r#""taskId":"t","status":"working","statusMessage":"{long}""#)).unwrap();
    assert_eq!(state.message.unwrap(), format!("{}…", "x".repeat(MAX_STATUS_MESSAGE)));
}

#[test]
fn a_result_of_a_tool_is_not_taken_for_a_created_task() {
    let created = |text: &str| TaskState::parse_created(&RawJson::parse(text).unwrap());
    assert!(created(r#"{"content":[]}"#).unwrap().is_none());
    assert!(created(r#"{"content":[],"task":{"taskId":"t","status":"working"}}"#).unwrap().is_none());
    assert!(created(r#"{"task":{"taskId":"t","status":"working"}}"#).unwrap().is_some());
    assert!(created(r#"{"task":{}}"#).is_err());
}
