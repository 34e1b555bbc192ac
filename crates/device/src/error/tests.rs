use super::*;
use std::time::Duration;

fn refused(status: u16, code: Option<&str>) -> ReconnectDecision {
    let refusal = GatewayRefusal {
        status,
        code: code.map(str::to_owned),
        message: "said".into(),
        hint: Some("do".into()),
        retry_after: Some(Duration::from_secs(7)),
    };
    ReconnectDecision::from_upgrade_error(UpgradeError::Refused(refusal))
}

#[track_caller]
fn stops(verdict: ReconnectDecision, expected: &DeviceError) {
    match verdict {
        ReconnectDecision::Stop(stopped) => assert_eq!(&stopped, expected),
        ReconnectDecision::Retry { why, .. } => panic!("it would try again: {why}"),
    }
}

#[test]
fn spent_revoked_and_expired_tokens_differ_and_are_not_retried_r17() {
    stops(refused(401, Some("token_revoked")), &DeviceError::TokenRevoked);
    stops(refused(401, Some("token_expired")), &DeviceError::TokenExpired);
    stops(refused(401, Some("token_unknown")), &DeviceError::TokenUnknown("said".into()));
    stops(refused(401, None), &DeviceError::TokenUnknown("said".into()));
    stops(ReconnectDecision::from_close(4001, "token_revoked: by the owner"), &DeviceError::TokenRevoked);
    stops(ReconnectDecision::from_close(4001, "token_expired"), &DeviceError::TokenExpired);
    stops(ReconnectDecision::from_close(4001, "other"), &DeviceError::TokenUnknown("other".into()));
    stops(ReconnectDecision::from_close(4002, "taken_over"), &DeviceError::TakenOver);
    stops(ReconnectDecision::from_close(1000, "bye"), &DeviceError::Goodbye("bye".into()));
    stops(refused(426, None), &DeviceError::Version("said".into()));
}

#[test]
fn a_forbidden_role_stops_the_device_with_the_gateways_hint() {
    let stopped = DeviceError::NotAllowed { message: "said".into(), hint: Some("do".into()) };
    stops(refused(403, Some("forbidden")), &stopped);
    assert_eq!(stopped.hint(), "do");
}

#[test]
fn temporary_errors_are_retried() {
    for status in [404, 429, 500, 502, 503] {
        assert!(matches!(refused(status, None), ReconnectDecision::Retry { .. }), "{status}");
    }
    let ReconnectDecision::Retry { after, .. } = refused(503, None) else { panic!("it should try again") };
    assert_eq!(after, Some(Duration::from_secs(7)));
    for code in [1001, 1002, 1006, 1008, 1009, 1011, 1013] {
        assert!(
            matches!(ReconnectDecision::from_close(code, "x"), ReconnectDecision::Retry { .. }),
            "{code}"
        );
    }
}
