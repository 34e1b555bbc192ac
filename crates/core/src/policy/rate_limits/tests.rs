use toolway_types::{ErrorKind, Role};

use super::*;
use crate::Caller;
use crate::Policy;
use crate::testkit::{caller, client, millis, policy, secs};

fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}

fn policy_with_limits(limits: &str) -> Policy {
    policy(&format!(r#"{{"policy":{{"rules":[{{"name":"r","effect":"allow",{limits}}}]}}}}"#))
}

fn admit<'l>(
    limiter: &'l RateLimiter,
    policy: &Policy,
    who: &Caller,
    tool: &str,
) -> Result<Option<PolicyInFlightGuard<'l>>, ToolError> {
    let decision = policy.decide(who, &id(tool), None);
    limiter.admit(policy, decision, &who.principal.id, &id(tool))
}

/// Number of admitted calls.
fn count_admitted(limiter: &RateLimiter, policy: &Policy, who: &str, tool: &str, calls: usize) -> usize {
    (0..calls).filter(|_| admit(limiter, policy, &client(who), tool).is_ok()).count()
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_refilled_over_a_minute() {
    let (limiter, policy) = (RateLimiter::default(), policy_with_limits(r#""calls_per_minute":10"#));
    let takes = |calls| count_admitted(&limiter, &policy, "a", "phone/scan", calls);
    assert_eq!(takes(12), 10);
    tokio::time::advance(secs(6) - millis(1)).await;
    assert_eq!(takes(5), 0);
    tokio::time::advance(millis(1)).await;
    assert_eq!(takes(5), 1, "one each six seconds");
    tokio::time::advance(secs(18)).await;
    assert_eq!(takes(5), 3);
    tokio::time::advance(secs(60)).await;
    assert_eq!(takes(12), 10);
    tokio::time::advance(secs(3600)).await;
    assert_eq!(takes(12), 10, "it holds a minute's worth and no more");
}

/// Refused calls have no effect, not even by rounding.
#[tokio::test(start_paused = true)]
async fn a_refused_call_does_not_delay_the_next() {
    for limit in [1, 3, 7, 9, 11, 59, 60, 61, 1000] {
        let (limiter, policy) =
            (RateLimiter::default(), policy_with_limits(&format!(r#""calls_per_minute":{limit}"#)));
        let takes = |calls| count_admitted(&limiter, &policy, "a", "phone/scan", calls);
        assert_eq!(takes(limit + 5), limit, "{limit}");
        let mut taken = 0;
        for _ in 0..600 {
            tokio::time::advance(millis(100)).await;
            taken += takes(25);
        }
        assert_eq!(taken, limit, "in the minute after: {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_contains_the_waiting_time_and_the_rule() {
    let (limiter, policy) = (RateLimiter::default(), policy_with_limits(r#""calls_per_minute":2"#));
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 2), 2);
    tokio::time::advance(millis(500)).await;
    let refused = admit(&limiter, &policy, &client("a"), "phone/scan").unwrap_err();
    assert_eq!((refused.code, refused.kind()), (Code::RateLimited, ErrorKind::ExecutionError));
    assert_eq!(refused.message, "The policy allows 2 calls per minute, and this limit is reached");
    assert_eq!(refused.hint.as_deref(), Some(r#"Try again in 30 s; the rule is "r""#));
    assert!(refused.retryable && !refused.dispatched);
    tokio::time::advance(millis(29_499)).await;
    let refused = admit(&limiter, &policy, &client("a"), "phone/scan").unwrap_err();
    assert_eq!(refused.hint.as_deref(), Some(r#"Try again in 1 s; the rule is "r""#));
    tokio::time::advance(millis(1)).await;
    assert!(admit(&limiter, &policy, &client("a"), "phone/scan").is_ok());
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_its_own_limit() {
    let (limiter, policy) = (RateLimiter::default(), policy_with_limits(r#""calls_per_minute":3"#));
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 9), 3);
    assert_eq!(count_admitted(&limiter, &policy, "b", "phone/scan", 9), 3);
    let same_id = caller("a", Role::Companion);
    assert!(admit(&limiter, &policy, &same_id, "phone/scan").is_err(), "a principal is its id");
}

#[tokio::test(start_paused = true)]
async fn limits_count_all_tools_together_or_each_tool() {
    let (limiter, policy) = (RateLimiter::default(), policy_with_limits(r#""calls_per_minute":5"#));
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 3), 3);
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/ring", 9), 2);

    let (limiter, policy) = (RateLimiter::default(), policy_with_limits(r#""calls_per_minute_per_tool":2"#));
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 9), 2);
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/ring", 9), 2);
    let refused = admit(&limiter, &policy, &client("a"), "phone/ring").unwrap_err();
    assert_eq!(
        refused.message,
        "The policy allows 2 calls of this tool per minute, and this limit is reached"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_does_not_count() {
    let both = policy_with_limits(r#""calls_per_minute":3,"calls_per_minute_per_tool":2,"in_flight":1"#);
    let limiter = RateLimiter::default();
    assert_eq!(count_admitted(&limiter, &both, "a", "phone/scan", 9), 2, "its tool's limit");
    assert_eq!(count_admitted(&limiter, &both, "a", "phone/ring", 9), 1, "the limit in all");
    assert_eq!(count_admitted(&limiter, &both, "a", "phone/look", 9), 0);
    tokio::time::advance(secs(60)).await;
    assert_eq!(count_admitted(&limiter, &both, "a", "phone/look", 9), 2, "those that were refused took none");
    tokio::time::advance(secs(60)).await;
    let running = admit(&limiter, &both, &client("a"), "phone/scan").unwrap();
    assert_eq!(count_admitted(&limiter, &both, "a", "phone/scan", 9), 0, "one is in flight");
    drop(running);
    assert_eq!(count_admitted(&limiter, &both, "a", "phone/scan", 9), 1, "nor did those take any");
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_are_counted_until_they_are_dropped() {
    let (limiter, policy) = (RateLimiter::default(), policy_with_limits(r#""in_flight":2"#));
    let one = admit(&limiter, &policy, &client("a"), "phone/scan").unwrap();
    let two = admit(&limiter, &policy, &client("a"), "phone/ring").unwrap();
    let refused = admit(&limiter, &policy, &client("a"), "phone/scan").unwrap_err();
    assert_eq!((refused.code, refused.retryable), (Code::Overloaded, true));
    assert_eq!(refused.message, "2 calls are already in flight; the policy allows no more");
    assert_eq!(refused.hint.as_deref(), Some(r#"Wait for some of them to end; the rule is "r""#));
    assert!(admit(&limiter, &policy, &client("b"), "phone/scan").is_ok());
    drop(one);
    let three = admit(&limiter, &policy, &client("a"), "phone/scan").unwrap();
    assert!(admit(&limiter, &policy, &client("a"), "phone/scan").is_err());
    drop((two, three));
    assert!(limiter.running.lock().is_empty(), "nothing is left of what is over");
}

#[tokio::test(start_paused = true)]
async fn rules_without_limits_count_nothing() {
    let limiter = RateLimiter::default();
    for policy in [Policy::default(), policy_with_limits(r#""when":{}"#)] {
        assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 1000), 1000);
    }
    assert!(limiter.buckets.lock().is_empty() && limiter.running.lock().is_empty());
}

/// Reloading the settings or moving a rule does not reset the count.
#[tokio::test(start_paused = true)]
async fn replacing_the_rules_keeps_the_count_of_a_rule_with_the_same_name_e6() {
    let limiter = RateLimiter::default();
    assert_eq!(
        count_admitted(&limiter, &policy_with_limits(r#""calls_per_minute":4"#), "a", "phone/scan", 9),
        4
    );
    let moved = policy(
        r#"{"policy":{"rules":[{"name":"new","when":{"tools":["x/*"]},"effect":"deny"},
            {"name":"r","effect":"allow","calls_per_minute":4}]}}"#,
    );
    assert_eq!(count_admitted(&limiter, &moved, "a", "phone/scan", 9), 0);
    // With twice the limit, used-up calls return twice as fast.
    let wider = policy_with_limits(r#""calls_per_minute":8"#);
    assert_eq!(count_admitted(&limiter, &wider, "a", "phone/scan", 9), 0);
    tokio::time::advance(millis(7_500)).await;
    assert_eq!(count_admitted(&limiter, &wider, "a", "phone/scan", 9), 1);
    let renamed = policy(r#"{"policy":{"rules":[{"name":"s","effect":"allow","calls_per_minute":4}]}}"#);
    assert_eq!(count_admitted(&limiter, &renamed, "a", "phone/scan", 9), 4, "another rule is another count");
}

/// A principal cannot reset a used-up limit by filling the limiter with other buckets.
#[tokio::test(start_paused = true)]
async fn filling_the_limiter_with_other_calls_does_not_reset_a_used_up_limit_e6() {
    let limiter = RateLimiter::default();
    let policy = policy_with_limits(r#""calls_per_minute_per_tool":5"#);
    let one = client("a");
    let decision = policy.decide(&one, &id("phone/scan"), None);
    let call_once = |name: String| {
        limiter.admit(&policy, decision, &one.principal.id, &id(&format!("phone/{name}"))).is_ok()
    };
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 9), 5);
    for number in 0..MAX_BUCKETS + MAX_BUCKETS / 4 {
        assert!(call_once(format!("t{number}")));
        // So that the buckets differ in age.
        if number % 1000 == 0 {
            tokio::time::advance(millis(1)).await;
        }
    }
    assert!(limiter.buckets.lock().len() <= MAX_BUCKETS);
    assert_eq!(count_admitted(&limiter, &policy, "a", "phone/scan", 9), 0);
    tokio::time::advance(secs(120)).await;
    for number in 0..MAX_BUCKETS {
        assert!(call_once(format!("u{number}")));
    }
    assert!(limiter.buckets.lock().len() <= MAX_BUCKETS, "those that are full again go first");
}
