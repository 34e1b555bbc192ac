use super::*;

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn conditions_are_described() {
    assert_eq!(condition_text(&RuleCondition::default()), "every call");
    let all = RuleCondition {
        principals: texts(&["owner", "01*"]),
        roles: texts(&["client"]),
        agents: texts(&["home"]),
        tools: texts(&["pixel-8/*", "*/read_*"]),
        read_only: Some(true),
        destructive: Some(false),
        open_world: Some(false),
    };
    assert_eq!(
        condition_text(&all),
        "tools pixel-8/* or */read_*, read-only, not destructive, not open-world, by owner or 01*, role client, \
         agent home"
    );
}

#[test]
fn effects_and_limits_are_described() {
    let rule = RuleDefinition {
        effect: Effect::Ask,
        caller_may_answer: true,
        calls_per_minute: Some(10),
        calls_per_minute_per_tool: Some(5),
        in_flight: Some(2),
        ..RuleDefinition::default()
    };
    assert_eq!(effect_text(&rule), "ask the caller");
    assert_eq!(limits_text(&rule), "10 per minute, 5 per minute and tool, 2 concurrent");
    assert_eq!(
        (effect_text(&RuleDefinition::default()), limits_text(&RuleDefinition::default())),
        ("allow", String::new())
    );
}
