use std::sync::Arc;

use toolway_types::{Code, Principal, Role, ToolId};

use super::*;
use crate::policy::definition::Effect;
use crate::policy::{ApprovalRequirement, Policy};
use crate::record::CallNotes;
use crate::testkit::{
    EngineHarness, annotated_document, answering_tool, assert_code, call_of, chat_caller, client,
    expect_error, policy, slug, success_text,
};
use crate::{Caller, CallerRegistration, EntryPoint, ToolSpec};

fn id(text: &str) -> ToolId {
    text.parse().unwrap()
}

fn scope(patterns: &[&str], approval: ApprovalMode) -> AgentScope {
    AgentScope::new(patterns, approval).unwrap()
}

fn scope_of(patterns: &[&str]) -> AgentScope {
    scope(patterns, ApprovalMode::Never)
}

fn scopes(list: &[(&str, AgentScope)]) -> AgentScopes {
    list.iter().map(|(name, scope)| (Arc::from(*name), scope.clone())).collect()
}

fn policy_with_scopes(rules: &str, list: &[(&str, AgentScope)]) -> Policy {
    policy(rules).with_agents(Some(Arc::new(scopes(list))))
}

fn agent_caller(agent: &str) -> Caller {
    chat_caller("token-1", agent, "s1")
}

fn bound_caller(agent: &str) -> Caller {
    let principal = Principal { id: "token-2".into(), role: Role::Client, agent: Some(agent.into()) };
    Caller::new(Arc::new(principal), EntryPoint::Rest)
}

fn spec(annotations: &str) -> ToolSpec {
    ToolSpec::compile(annotated_document("scan", annotations)).unwrap()
}

#[test]
fn a_scope_includes_matching_tools_except_excluded_ones() {
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["*/*"], &["phone/scan", "builtin/read_file", "own/x"], &[]),
        (&["*"], &["phone/scan"], &[]),
        (&[], &[], &["phone/scan", "builtin/read_file"]),
        (&["phone/*"], &["phone/scan"], &["phone-2/scan", "builtin/scan"]),
        (&["*/*", "!*/write_*"], &["builtin/read_file"], &["builtin/write_file", "pc/write_x"]),
        // In any position.
        (&["!phone/scan", "phone/*"], &["phone/ring"], &["phone/scan"]),
        (&["*/read_{file,mail}"], &["pc/read_file", "pc/read_mail"], &["pc/read_disk"]),
        // An exclusion alone includes nothing.
        (&["!phone/scan"], &[], &["phone/ring", "phone/scan"]),
    ];
    for (patterns, inside, outside) in cases {
        let scope = scope_of(patterns);
        for tool in *inside {
            assert!(scope.includes(&id(tool)), "{tool} is in {patterns:?}");
        }
        for tool in *outside {
            assert!(!scope.includes(&id(tool)), "{tool} is not in {patterns:?}");
        }
    }
}

#[test]
fn two_patterns_mean_all_tools() {
    let everything = AgentScope::all_tools();
    assert_eq!(everything.patterns(), scope_of(&["*/*"]).patterns());
    assert!(everything.includes(&id("phone/scan")));
}

#[test]
fn an_error_names_the_pattern_as_written() {
    let bad = |patterns: &[&str]| AgentScope::new(patterns, ApprovalMode::Never).unwrap_err();
    assert_eq!(bad(&["phone/*", "phone/[a"]).pattern, "phone/[a");
    assert_eq!(bad(&["phone/*", "!phone/[a"]).pattern, "!phone/[a");
    assert_eq!(bad(&["!"]).to_string(), r#""!" is not a pattern: it is empty"#);
    // One `!` excludes; the rest is the pattern.
    assert!(scope_of(&["*/*", "!!x/y"]).includes(&id("x/y")));
}

#[test]
fn an_agent_needs_both_scope_and_rules() {
    let policy = policy_with_scopes(
        r#"{"policy":{"rules":[{"when":{"tools":["*/pay"]},"effect":"deny"}]}}"#,
        &[("cook", scope_of(&["phone/*"])), ("default", scope_of(&["*/*"]))],
    );
    for who in [agent_caller("cook"), bound_caller("cook")] {
        assert!(policy.may_use(&who, &id("phone/scan"), None));
        assert!(!policy.may_use(&who, &id("phone/pay"), None), "a rule denies it");
        assert!(!policy.may_use(&who, &id("pc/scan"), None), "outside of its scope");
    }
    assert!(policy.may_use(&agent_caller("default"), &id("pc/scan"), None));
    assert!(policy.may_use(&client("c"), &id("pc/scan"), None), "no agent, no scope");
    // The token's own agent counts, whatever the entry point names.
    let other = Caller { agent: Some("default".into()), ..bound_caller("cook") };
    assert!(!policy.may_use(&other, &id("pc/scan"), None));
}

#[test]
fn an_agent_that_does_not_exist_may_use_nothing() {
    let policy = policy_with_scopes("{}", &[("default", scope_of(&["*/*"]))]);
    for who in [agent_caller("ghost"), bound_caller("ghost")] {
        assert!(!policy.may_use(&who, &id("phone/scan"), None));
        let own = Caller {
            registration: Some(CallerRegistration { source: slug("phone"), lease: lease() }),
            ..who
        };
        assert!(!policy.may_use(&own, &id("phone/scan"), None));
    }
    // Without scopes, agents change nothing.
    assert!(Policy::default().may_use(&agent_caller("ghost"), &id("phone/scan"), None));
}

fn lease() -> crate::LeaseId {
    crate::Registry::new().lease(slug("phone"), crate::SourceRetention::Nothing).id()
}

#[test]
fn the_scope_binds_the_tools_of_the_callers_own_connection() {
    let rules = r#"{"policy":{"rules":[{"when":{"tools":["*/pay"]},"effect":"deny"}]}}"#;
    for (patterns, camera, scan) in [
        (&["*/*", "!phone/camera"][..], false, true),
        (&["builtin/*"], false, false),
        (&[], false, false),
        (&["phone/camera"], true, false),
        (&["*/camera"], true, false),
        (&["*/*"], true, true),
    ] {
        let policy = policy_with_scopes(rules, &[("cook", scope_of(patterns))]);
        for caller in [agent_caller("cook"), bound_caller("cook")] {
            let registration = Some(CallerRegistration { source: slug("phone"), lease: lease() });
            let own = Caller { registration, ..caller };
            assert_eq!(policy.may_use(&own, &id("phone/camera"), None), camera, "{patterns:?}");
            assert_eq!(policy.may_use(&own, &id("phone/scan"), None), scan, "{patterns:?}");
            assert!(!policy.may_use(&own, &id("phone/pay"), None), "a rule denies it");
        }
    }
}

#[test]
fn the_stricter_approval_mode_applies() {
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
        let policy = policy_with_scopes(&rules, &[("cook", scope(&["*/*"], agent))]);
        let asks = |spec: &ToolSpec| {
            let decision = policy.decide(&agent_caller("cook"), &id("phone/scan"), Some(spec));
            assert_eq!(decision.effect, Effect::Allow);
            policy.approval_requirement(decision) != ApprovalRequirement::NotRequired
        };
        let seen = (asks(&reads), asks(&writes));
        assert_eq!(seen, (of_reading, of_writing), "{settings} and {agent:?}");
        // Twice, because the decision is cached.
        assert_eq!((asks(&reads), asks(&writes)), seen);
        let without = policy.decide(&client("c"), &id("phone/scan"), Some(&writes));
        let expected = settings != "never";
        assert_eq!(
            policy.approval_requirement(without) != ApprovalRequirement::NotRequired,
            expected,
            "without an agent: {settings}"
        );
    }
}

#[test]
fn the_rules_decide_who_may_answer() {
    let rules =
        |mode: &str| format!(r#"{{"approval":{{"rules":[{{"mode":"{mode}","caller_may_answer":true}}]}}}}"#);
    let always = [("cook", scope(&["*/*"], ApprovalMode::Always))];
    let approval = |policy: &Policy| {
        policy.approval_requirement(policy.decide(
            &agent_caller("cook"),
            &id("phone/scan"),
            Some(&spec("{}")),
        ))
    };
    assert_eq!(approval(&policy_with_scopes(&rules("never"), &always)), ApprovalRequirement::OwnerOrCaller);
    assert_eq!(approval(&policy_with_scopes("{}", &always)), ApprovalRequirement::Owner);
}

#[test]
fn an_explanation_names_a_deciding_agent() {
    let policy = policy_with_scopes(
        r#"{"policy":{"rules":[{"name":"phones","when":{"tools":["phone/*"]},"effect":"allow"}]}}"#,
        &[
            ("cook", scope_of(&["phone/*", "!phone/pay"])),
            ("mute", scope_of(&[])),
            ("shy", scope(&["*/*"], ApprovalMode::Always)),
        ],
    );
    let explain = |caller: &Caller, tool: &str| {
        let explained = policy.explain(caller, &id(tool), &spec("{}"));
        (explained.effect, explained.rule, explained.asks, explained.reason)
    };
    let denied = |reason: &str| (Effect::Deny, None, false, reason.to_owned());
    assert_eq!(
        explain(&agent_caller("cook"), "phone/pay"),
        denied(r#"the agent "cook" may only use phone/*, !phone/pay"#)
    );
    assert_eq!(explain(&agent_caller("mute"), "phone/scan"), denied(r#"the agent "mute" may use no tools"#));
    assert_eq!(
        explain(&bound_caller("ghost"), "phone/scan"),
        denied(r#"the agent "ghost" does not exist, so it may use no tools"#)
    );
    let phones = r#""phones" is the first matching rule (1 of 1)"#;
    let allowed = |asks, reason: String| (Effect::Allow, Some("phones".to_owned()), asks, reason);
    assert_eq!(explain(&agent_caller("cook"), "phone/scan"), allowed(false, phones.to_owned()));
    assert_eq!(
        explain(&agent_caller("shy"), "phone/scan"),
        allowed(true, format!(r#"{phones}; calls of the agent "shy" wait for approval"#))
    );
}

#[tokio::test(start_paused = true)]
async fn scopes_survive_new_rules_and_new_scopes_apply_to_the_next_call() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x"), answering_tool("ring", "rang")]);
    let run = async |name: &str| world.engine.call(call_of(agent_caller("cook"), name)).await;
    assert_eq!(success_text(&run("phone__ring").await), "rang");
    world.engine.set_agent_scopes(scopes(&[("cook", scope_of(&["*/scan"]))]));
    assert_code(&run("phone__ring").await, Code::ToolNotAvailable);
    assert_eq!(success_text(&run("phone__scan").await), "x");
    world.set_policy(r#"{"policy":{"rules":[{"when":{"tools":["*/scan"]},"effect":"deny"}]}}"#);
    assert_code(&run("phone__ring").await, Code::ToolNotAvailable);
    assert_code(&run("phone__scan").await, Code::ToolNotAvailable);
    world.engine.set_agent_scopes(scopes(&[("cook", scope_of(&["*/*"]))]));
    assert_eq!(success_text(&run("phone__ring").await), "rang", "decided anew");
    assert_code(&run("phone__scan").await, Code::ToolNotAvailable);
}

#[tokio::test(start_paused = true)]
async fn a_tool_outside_the_scope_appears_unknown_and_the_record_has_the_reason() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x")]);
    world.engine.set_agent_scopes(scopes(&[("cook", scope_of(&["builtin/*"]))]));
    let refused = world.engine.call(call_of(agent_caller("cook"), "phone__scan")).await;
    assert_eq!(expect_error(&refused).message, "Tool phone__scan is not available");
    assert_eq!(expect_error(&refused).hint, None);
    let record = &world.recorder.records_of(refused.id)[0];
    let by_the_agent = CallNotes { rule: Some("agent:cook".into()), ..CallNotes::default() };
    assert_eq!(record.notes.as_deref(), Some(&by_the_agent));
    let unknown = world.engine.call(call_of(agent_caller("cook"), "phone__none")).await;
    assert_eq!(world.recorder.records_of(unknown.id)[0].notes, None);
}
