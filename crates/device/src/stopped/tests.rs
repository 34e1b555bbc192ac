use super::*;
use std::time::Duration;

fn refused(status: u16, code: Option<&str>) -> Verdict {
    let refusal = Refusal {
        status,
        code: code.map(str::to_owned),
        message: "said".into(),
        hint: Some("do".into()),
        retry_after: Some(Duration::from_secs(7)),
    };
    Verdict::of_upgrade(UpgradeError::Refused(refusal))
}

#[track_caller]
fn stops(verdict: Verdict, expected: &Stopped) {
    match verdict {
        Verdict::Stop(stopped) => assert_eq!(&stopped, expected),
        Verdict::Retry { why, .. } => panic!("it would try again: {why}"),
    }
}

#[test]
fn r17_spent_revoked_and_expired_tokens_are_told_apart_and_not_tried_again() {
    stops(refused(401, Some("token_revoked")), &Stopped::TokenRevoked);
    stops(refused(401, Some("token_expired")), &Stopped::TokenExpired);
    stops(refused(401, Some("token_unknown")), &Stopped::TokenUnknown("said".into()));
    stops(refused(401, None), &Stopped::TokenUnknown("said".into()));
    stops(Verdict::of_close(4001, "token_revoked: by the owner"), &Stopped::TokenRevoked);
    stops(Verdict::of_close(4001, "token_expired"), &Stopped::TokenExpired);
    stops(Verdict::of_close(4001, "other"), &Stopped::TokenUnknown("other".into()));
    stops(Verdict::of_close(4002, "taken_over"), &Stopped::TakenOver);
    stops(Verdict::of_close(1000, "bye"), &Stopped::Goodbye("bye".into()));
    stops(refused(426, None), &Stopped::Version("said".into()));
}

#[test]
fn a_role_that_may_not_stops_with_the_gateways_own_hint() {
    let stopped = Stopped::NotAllowed { message: "said".into(), hint: Some("do".into()) };
    stops(refused(403, Some("forbidden")), &stopped);
    assert_eq!(stopped.hint(), "do");
}

#[test]
fn what_may_pass_is_tried_again() {
    for status in [404, 429, 500, 502, 503] {
        assert!(matches!(refused(status, None), Verdict::Retry { .. }), "{status}");
    }
    let Verdict::Retry { after, .. } = refused(503, None) else { panic!("it should try again") };
    assert_eq!(after, Some(Duration::from_secs(7)));
    for code in [1001, 1002, 1006, 1008, 1009, 1011, 1013] {
        assert!(matches!(Verdict::of_close(code, "x"), Verdict::Retry { .. }), "{code}");
    }
}
