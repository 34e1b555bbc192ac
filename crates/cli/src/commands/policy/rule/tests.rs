use super::*;

#[test]
fn selectors_are_read_in_each_form() {
    let expected = When { tools: vec!["a/*".to_owned()], read_only: Some(false), ..When::default() };
    for text in [
        r#"{"tools": ["a/*"], "read_only": false}"#,
        r#" { tools = ["a/*"], read_only = false } "#,
        "tools = [\"a/*\"]\nread_only = false",
    ] {
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }
    assert_eq!(parse("").unwrap(), When::default());
}

#[test]
fn what_is_no_selector_is_bad_usage() {
    for (text, part) in [
        ("{\"tool\": [\"a/*\"]}", "unknown field `tool`"),
        ("tools = \"a/*\"", "expected a sequence"),
        ("tools = [", "--when: "),
        ("[]", "--when: "),
    ] {
        let failure = parse(text).unwrap_err();
        assert_eq!(failure.word(), "usage");
        let said = failure.for_people(false);
        assert!(said.contains(part) && said.contains("hint: write it as"), "{said}");
    }
}

#[test]
fn flags_are_added_to_it() {
    let args = WhenArgs {
        when: Some("tools = ['a/*']\nread_only = true".to_owned()),
        tool: vec!["b/*".to_owned()],
        role: vec!["client".to_owned()],
        read_only: Some(false),
        ..WhenArgs::default()
    };
    let when = args.read().unwrap();
    assert_eq!(
        (when.tools.join(" "), when.roles.join(" "), when.read_only),
        ("a/* b/*".into(), "client".into(), Some(false))
    );
}
