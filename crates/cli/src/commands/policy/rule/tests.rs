use super::*;

#[test]
fn conditions_are_parsed_from_json_and_toml() {
    let expected =
        RuleCondition { tools: vec!["a/*".to_owned()], read_only: Some(false), ..RuleCondition::default() };
    for text in [
        r#"{"tools": ["a/*"], "read_only": false}"#,
        r#" { tools = ["a/*"], read_only = false } "#,
        "tools = [\"a/*\"]\nread_only = false",
    ] {
        assert_eq!(parse_condition(text).unwrap(), expected, "{text}");
    }
    assert_eq!(parse_condition("").unwrap(), RuleCondition::default());
}

#[test]
fn invalid_conditions_are_a_usage_error() {
    for (text, part) in [
        ("{\"tool\": [\"a/*\"]}", "unknown field `tool`"),
        ("tools = \"a/*\"", "expected a sequence"),
        ("tools = [", "--when: "),
        ("[]", "--when: "),
    ] {
        let failure = parse_condition(text).unwrap_err();
        assert_eq!(failure.code(), "usage");
        let said = failure.render_text(false);
        assert!(said.contains(part) && said.contains("hint: for example"), "{said}");
    }
}

#[test]
fn flags_extend_the_conditions() {
    let args = WhenArgs {
        when: Some("tools = ['a/*']\nread_only = true".to_owned()),
        tool: vec!["b/*".to_owned()],
        role: vec!["client".to_owned()],
        read_only: Some(false),
        ..WhenArgs::default()
    };
    let when = args.to_condition().unwrap();
    assert_eq!(
        (when.tools.join(" "), when.roles.join(" "), when.read_only),
        ("a/* b/*".into(), "client".into(), Some(false))
    );
}
