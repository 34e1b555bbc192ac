//! Tests of errors for names that match no tool.

use toolway_types::{Code, ErrorKind, Role};

use crate::policy::definition::{
    ApprovalSettings, Effect, PermissionSettings, PolicySettings, RuleCondition, RuleDefinition,
};
use crate::testkit::{
    EngineHarness, answering_tool, assert_code, call, caller, expect_error, slug, success_text,
};
use crate::{CallRequest, Caller, CallerRegistration, Policy, RawArguments, SourceRetention};

#[tokio::test(start_paused = true)]
async fn an_unknown_name_is_refused_as_not_available() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x")]);
    let finished = world.run("nope", r#"{"password":"hunter2"}"#).await;
    let refusal = expect_error(&finished);
    assert_eq!(refusal.message, "Tool nope is not available");
    assert_eq!((refusal.code, refusal.kind()), (Code::ToolNotAvailable, ErrorKind::ExecutionError));
    assert_eq!((refusal.dispatched, refusal.retryable, &refusal.hint), (false, false, &None));
    assert_eq!(finished.tool, None);

    let record = world.recorder.single_record();
    assert_eq!(record.opened.id, finished.id);
    assert_eq!(&*record.opened.name, "nope");
    assert_eq!((&record.opened.tool, &record.opened.arguments), (&None, &None));
    assert_eq!(record.attempts, 0);
    assert_eq!(record.outcome, finished.outcome);
}

#[tokio::test(start_paused = true)]
async fn the_error_contains_the_name_as_given() {
    let world = EngineHarness::new(Vec::new());
    for name in ["", "phone__gone", "a b", "größe"] {
        assert_eq!(
            expect_error(&world.run(name, "{}").await).message,
            format!("Tool {name} is not available")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_tool_looks_like_an_unknown_one() {
    let world = EngineHarness::new(vec![answering_tool("scan", "x"), answering_tool("ring", "rang")]);
    let deny = RuleDefinition {
        when: RuleCondition { tools: vec!["*/scan".to_owned()], ..RuleCondition::default() },
        effect: Effect::Deny,
        ..RuleDefinition::default()
    };
    let rules = PolicySettings { rules: vec![deny], ..PolicySettings::default() };
    let policy = Policy::compile(&rules, &ApprovalSettings::default(), &PermissionSettings::default());
    world.engine.set_policy(policy.unwrap());
    let engine = &world.engine;
    for name in ["scan", "phone__scan", "phone/scan"] {
        let refused = engine.call(call(name, "{}")).await;
        let unknown = engine.call(call("unknown", "{}")).await;
        let expected = expect_error(&unknown).message.replace("unknown", name);
        assert_eq!(expect_error(&refused).message, expected);
        assert_eq!(
            (expect_error(&refused).code, &expect_error(&refused).hint),
            (expect_error(&unknown).code, &expect_error(&unknown).hint)
        );
        assert_eq!(refused.tool, None);
        assert_eq!(
            world.recorder.records_of(refused.id)[0].opened.tool,
            None,
            "the record does not show it either"
        );
    }
    assert_eq!(success_text(&engine.call(call("ring", "{}")).await), "rang");
}

#[tokio::test(start_paused = true)]
async fn a_tool_can_be_called_by_its_id() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    let finished = world.run("phone/scan", "{}").await;
    assert_eq!(success_text(&finished), "found");
    assert_eq!(finished.tool.unwrap().to_string(), "phone/scan");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_name_suggests_similar_tools_of_the_caller_only() {
    let world = EngineHarness::new(vec![answering_tool("scan_page", "x"), answering_tool("ring", "x")]);
    let finished = world.run("scan_pag", "{}").await;
    assert_eq!(expect_error(&finished).message, "Tool scan_pag is not available");
    assert_eq!(expect_error(&finished).hint.as_deref(), Some("Did you mean phone__scan_page?"));

    let deny = RuleDefinition {
        when: RuleCondition { tools: vec!["*/scan_page".to_owned()], ..RuleCondition::default() },
        effect: Effect::Deny,
        ..RuleDefinition::default()
    };
    let rules = PolicySettings { rules: vec![deny], ..PolicySettings::default() };
    let policy = Policy::compile(&rules, &ApprovalSettings::default(), &PermissionSettings::default());
    world.engine.set_policy(policy.unwrap());
    for name in ["scan_pag", "phone/scan_page", "tv__scan_page"] {
        assert_eq!(expect_error(&world.run(name, "{}").await).hint, None, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_without_call_rights_has_no_tools() {
    let world = EngineHarness::new(vec![answering_tool("scan", "found")]);
    for (role, may) in
        [(Role::Owner, true), (Role::Client, true), (Role::Companion, true), (Role::Device, false)]
    {
        let call = CallRequest::new("phone__scan", RawArguments::None, caller("somebody", role));
        let finished = world.engine.call(call).await;
        assert_eq!(finished.outcome.is_success(), may, "{role}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_bare_name_is_refused_with_the_full_names() {
    let world = EngineHarness::new(vec![answering_tool("battery", "phone's")]);
    let tablet = world.registry.lease(slug("tablet"), SourceRetention::Names);
    tablet.replace(vec![answering_tool("battery", "tablet's")]);
    let expected =
        "Several sources have a tool of this name; use a full name: phone__battery, tablet__battery"
            .to_owned();
    let finished = world.run("battery", "{}").await;
    assert_code(&finished, Code::ToolNotAvailable);
    assert_eq!(expect_error(&finished).message, "Tool battery is not available");
    assert_eq!(expect_error(&finished).hint, Some(expected.clone()));
    assert_eq!(success_text(&world.run("tablet__battery", "{}").await), "tablet's");

    drop(tablet);
    let finished = world.run("battery", "{}").await;
    assert_eq!(expect_error(&finished).hint, Some(expected), "one that is away still counts");
    world.registry.forget(&slug("tablet"));
    assert_eq!(success_text(&world.run("battery", "{}").await), "phone's");
}

#[tokio::test(start_paused = true)]
async fn the_error_reports_an_offline_source() {
    let world = EngineHarness::new(Vec::new());
    let tablet = world.registry.lease(slug("tablet"), SourceRetention::Names);
    tablet.replace(vec![answering_tool("battery", "x")]);
    drop(tablet);
    for name in ["battery", "tablet__battery"] {
        let finished = world.run(name, "{}").await;
        assert_eq!(expect_error(&finished).message, format!("Tool {name} is not available"));
        let hint = expect_error(&finished).hint.as_deref();
        assert_eq!(hint, Some("tablet has a tool of this name, but is not connected"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_bare_name_in_the_form_of_a_full_name_is_refused() {
    let world = EngineHarness::new(vec![answering_tool("tv__volume", "x")]);
    let finished = world.run("tv__volume", "{}").await;
    assert_code(&finished, Code::ToolNotAvailable);
    assert_eq!(expect_error(&finished).hint, None, "the caller asked for a tool of tv, not of phone");
    assert_eq!(success_text(&world.run("phone__tv__volume", "{}").await), "x");
}

#[tokio::test(start_paused = true)]
async fn a_bare_name_on_the_callers_connection_is_its_own_tool() {
    let world = EngineHarness::new(vec![answering_tool("battery", "phone's")]);
    let tablet = world.registry.lease(slug("tablet"), SourceRetention::Names);
    tablet.replace(vec![answering_tool("battery", "tablet's")]);
    let own = Some(CallerRegistration { source: slug("tablet"), lease: tablet.id() });
    let caller = Caller { registration: own, ..caller("somebody", Role::Companion) };
    let finished = world.engine.call(CallRequest::new("battery", RawArguments::None, caller)).await;
    assert_eq!(success_text(&finished), "tablet's");
    assert_eq!(finished.tool.unwrap().to_string(), "tablet/battery");
}
