use std::sync::Arc;

use toolway_types::{Code, Principal, Role, ToolId};

use super::*;
use crate::policy::definition::Effect;
use crate::policy::{Approval, Policy};
use crate::record::CallNotes;
use crate::testkit::{
    World, annotated, answering, assert_code, call_of, chatting, client, error, policy, slug, text,
};
use crate::{Caller, Door, OwnTools, ToolSpec};

fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}

fn scope(patterns: &[&str], approval: ApprovalMode) -> AgentScope {
    AgentScope::new(patterns, approval).unwrap()
}

fn within(patterns: &[&str]) -> AgentScope {
    scope(patterns, ApprovalMode::Never)
}

fn scopes(list: &[(&str, AgentScope)]) -> AgentScopes {
    list.iter().map(|(name, scope)| (Arc::from(*name), scope.clone())).collect()
}

fn with(rules: &str, list: &[(&str, AgentScope)]) -> Policy {
    policy(rules).with_agents(Some(Arc::new(scopes(list))))
}

fn as_agent(agent: &str) -> Caller {
    chatting("token-1", agent, "s1")
}

fn bound_to(agent: &str) -> Caller {
    let principal = Principal { id: "token-2".into(), role: Role::Client, agent: Some(agent.into()) };
    Caller::new(Arc::new(principal), Door::Rest)
}

fn spec(annotations: &str) -> ToolSpec {
    ToolSpec::compile(annotated("scan", annotations)).unwrap()
}

#[test]
fn a_scope_has_what_fits_and_not_what_is_taken_out() {
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["*/*"], &["phone/scan", "builtin/read_file", "own/x"], &[]),
        (&["*"], &["phone/scan"], &[]),
        (&[], &[], &["phone/scan", "builtin/read_file"]),
        (&["phone/*"], &["phone/scan"], &["phone-2/scan", "builtin/scan"]),
        (&["*/*", "!*/write_*"], &["builtin/read_file"], &["builtin/write_file", "pc/write_x"]),
        // Wherever it stands.
        (&["!phone/scan", "phone/*"], &["phone/ring"], &["phone/scan"]),
        (&["*/read_{file,mail}"], &["pc/read_file", "pc/read_mail"], &["pc/read_disk"]),
        // Nothing is taken out of nothing.
        (&["!phone/scan"], &[], &["phone/ring", "phone/scan"]),
    ];
    for (patterns, inside, outside) in cases {
        let scope = within(patterns);
        for tool in *inside {
            assert!(scope.includes(&id(tool)), "{tool} is in {patterns:?}");
        }
        for tool in *outside {
            assert!(!scope.includes(&id(tool)), "{tool} is not in {patterns:?}");
        }
    }
}

#[test]
fn everything_is_what_two_stars_are() {
    let everything = AgentScope::everything();
    assert_eq!(everything.patterns(), within(&["*/*"]).patterns());
    assert!(everything.includes(&id("phone/scan")));
}

#[test]
fn a_pattern_that_cannot_be_used_is_named_as_it_was_written() {
    let bad = |patterns: &[&str]| AgentScope::new(patterns, ApprovalMode::Never).unwrap_err();
    assert_eq!(bad(&["phone/*", "phone/[a"]).pattern, "phone/[a");
    assert_eq!(bad(&["phone/*", "!phone/[a"]).pattern, "!phone/[a");
    assert_eq!(bad(&["!"]).to_string(), r#""!" is not a pattern: it is empty"#);
    // One mark takes out; what follows is the pattern.
    assert!(within(&["*/*", "!!x/y"]).includes(&id("x/y")));
}

#[test]
fn an_agent_uses_what_is_in_its_scope_and_what_the_rules_allow() {
    let policy = with(
        r#"{"policy":{"rules":[{"when":{"tools":["*/pay"]},"effect":"deny"}]}}"#,
        &[("cook", within(&["phone/*"])), ("default", within(&["*/*"]))],
    );
    for who in [as_agent("cook"), bound_to("cook")] {
        assert!(policy.may_use(&who, &id("phone/scan"), None));
        assert!(!policy.may_use(&who, &id("phone/pay"), None), "a rule denies it");
        assert!(!policy.may_use(&who, &id("pc/scan"), None), "outside of its scope");
    }
    assert!(policy.may_use(&as_agent("default"), &id("pc/scan"), None));
    assert!(policy.may_use(&client("c"), &id("pc/scan"), None), "no agent, no scope");
    // The token's own agent counts, whatever the door says.
    let other = Caller { agent: Some("default".into()), ..bound_to("cook") };
    assert!(!policy.may_use(&other, &id("pc/scan"), None));
}

#[test]
fn an_agent_that_does_not_exist_may_use_nothing() {
    let policy = with("{}", &[("default", within(&["*/*"]))]);
    for who in [as_agent("ghost"), bound_to("ghost")] {
        assert!(!policy.may_use(&who, &id("phone/scan"), None));
        let own = Caller { own: Some(OwnTools { source: slug("phone"), lease: lease() }), ..who };
        assert!(!policy.may_use(&own, &id("phone/scan"), None));
    }
    // Where nobody has said what agents may use, they change nothing.
    assert!(Policy::default().may_use(&as_agent("ghost"), &id("phone/scan"), None));
}

fn lease() -> crate::LeaseId {
    crate::Registry::new().lease(slug("phone"), crate::Keep::Nothing).id()
}

#[test]
fn the_tools_of_the_callers_own_connection_are_always_within() {
    let policy = with(
        r#"{"policy":{"rules":[{"when":{"tools":["*/pay"]},"effect":"deny"}]}}"#,
        &[("cook", within(&["builtin/*"]))],
    );
    let own = Caller { own: Some(OwnTools { source: slug("phone"), lease: lease() }), ..as_agent("cook") };
    assert!(policy.may_use(&own, &id("phone/scan"), None));
    assert!(policy.may_use(&own, &id("builtin/read_file"), None));
    assert!(!policy.may_use(&own, &id("pc/scan"), None));
    assert!(!policy.may_use(&own, &id("phone/pay"), None), "the rules hold for them too");
    assert!(!policy.may_use(&as_agent("cook"), &id("phone/scan"), None), "without the connection");
}

#[test]
fn of_two_words_on_approval_the_stricter_counts() {
    use ApprovalMode::{Always, Never, Writes};
    let (reads, writes) = (spec(r#"{"readOnlyHint":true}"#), spec("{}"));
    for (settings, agent, of_reading, of_writing) in [
        ("never", Never, false, false),
        ("never", Writes, false, true),
        ("never", Always, true, true),
        ("writes", Never, false, true),
        ("writes", Always, true, true),
        ("always", Never, true, true),
        ("always", Writes, true, true),
    ] {
        let rules =
            format!(r#"{{"policy":{{"trusted_sources":["phone"]}},"approval":{{"default":"{settings}"}}}}"#);
        let policy = with(&rules, &[("cook", scope(&["*/*"], agent))]);
        let asks = |spec: &ToolSpec| {
            let decision = policy.decide(&as_agent("cook"), &id("phone/scan"), Some(spec));
            assert_eq!(decision.effect, Effect::Allow);
            policy.approval(decision) != Approval::NotNeeded
        };
        let seen = (asks(&reads), asks(&writes));
        assert_eq!(seen, (of_reading, of_writing), "{settings} and {agent:?}");
        // Twice, since it is remembered.
        assert_eq!((asks(&reads), asks(&writes)), seen);
        let without = policy.decide(&client("c"), &id("phone/scan"), Some(&writes));
        let expected = settings != "never";
        assert_eq!(policy.approval(without) != Approval::NotNeeded, expected, "without an agent: {settings}");
    }
}

#[test]
fn who_may_answer_is_for_the_rules_to_say() {
    let rules =
        |mode: &str| format!(r#"{{"approval":{{"rules":[{{"mode":"{mode}","caller_may_answer":true}}]}}}}"#);
    let always = [("cook", scope(&["*/*"], ApprovalMode::Always))];
    let approval = |policy: &Policy| {
        policy.approval(policy.decide(&as_agent("cook"), &id("phone/scan"), Some(&spec("{}"))))
    };
    assert_eq!(approval(&with(&rules("never"), &always)), Approval::OwnerOrCaller);
    assert_eq!(approval(&with("{}", &always)), Approval::Owner);
}

#[test]
fn an_explanation_says_when_an_agent_decides() {
    let policy = with(
        r#"{"policy":{"rules":[{"name":"phones","when":{"tools":["phone/*"]},"effect":"allow"}]}}"#,
        &[
            ("cook", within(&["phone/*", "!phone/pay"])),
            ("mute", within(&[])),
            ("shy", scope(&["*/*"], ApprovalMode::Always)),
        ],
    );
    let explain = |caller: &Caller, tool: &str| {
        let explained = policy.explain(caller, &id(tool), &spec("{}"));
        (explained.effect, explained.rule, explained.asks, explained.reason)
    };
    let denied = |reason: &str| (Effect::Deny, None, false, reason.to_owned());
    assert_eq!(
        explain(&as_agent("cook"), "phone/pay"),
        denied(r#"the agent "cook" may only use phone/*, !phone/pay"#)
    );
    assert_eq!(explain(&as_agent("mute"), "phone/scan"), denied(r#"the agent "mute" may use no tools"#));
    assert_eq!(
        explain(&bound_to("ghost"), "phone/scan"),
        denied(r#"there is no agent "ghost", so nothing may be used in its name"#)
    );
    let phones = r#""phones" is the first rule that fits (1 of 1)"#;
    let allowed = |asks, reason: String| (Effect::Allow, Some("phones".to_owned()), asks, reason);
    assert_eq!(explain(&as_agent("cook"), "phone/scan"), allowed(false, phones.to_owned()));
    assert_eq!(
        explain(&as_agent("shy"), "phone/scan"),
        allowed(true, format!(r#"{phones}; calls of the agent "shy" wait for approval"#))
    );
}

#[tokio::test(start_paused = true)]
async fn scopes_outlast_other_rules_and_other_scopes_count_from_the_next_call_on() {
    let world = World::new(vec![answering("scan", "x"), answering("ring", "rang")]);
    let run = async |name: &str| world.engine.call(call_of(as_agent("cook"), name)).await;
    assert_eq!(text(&run("phone__ring").await), "rang");
    world.engine.set_agents(scopes(&[("cook", within(&["*/scan"]))]));
    assert_code(&run("phone__ring").await, Code::ToolNotAvailable);
    assert_eq!(text(&run("phone__scan").await), "x");
    world.rule(r#"{"policy":{"rules":[{"when":{"tools":["*/scan"]},"effect":"deny"}]}}"#);
    assert_code(&run("phone__ring").await, Code::ToolNotAvailable);
    assert_code(&run("phone__scan").await, Code::ToolNotAvailable);
    world.engine.set_agents(scopes(&[("cook", within(&["*/*"]))]));
    assert_eq!(text(&run("phone__ring").await), "rang", "decided anew");
    assert_code(&run("phone__scan").await, Code::ToolNotAvailable);
}

#[tokio::test(start_paused = true)]
async fn what_is_outside_of_a_scope_looks_as_if_it_did_not_exist_and_the_record_says_why() {
    let world = World::new(vec![answering("scan", "x")]);
    world.engine.set_agents(scopes(&[("cook", within(&["builtin/*"]))]));
    let refused = world.engine.call(call_of(as_agent("cook"), "phone__scan")).await;
    assert_eq!(error(&refused).message, "Tool phone__scan is not available");
    assert_eq!(error(&refused).hint, None);
    let record = &world.recorder.of(refused.id)[0];
    let by_the_agent = CallNotes { rule: Some("agent:cook".into()), ..CallNotes::default() };
    assert_eq!(record.notes.as_deref(), Some(&by_the_agent));
    let unknown = world.engine.call(call_of(as_agent("cook"), "phone__none")).await;
    assert_eq!(world.recorder.of(unknown.id)[0].notes, None);
}
