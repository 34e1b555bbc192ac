use serde_json::json;

use super::*;

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

fn filled(template: &str, arguments: Value) -> Option<String> {
    TextTemplate::parse(template).unwrap().fill(&object(arguments), &SecretMap::new(), str::to_owned)
}

#[test]
fn placeholders_are_replaced_by_values() {
    assert_eq!(filled("a {x}-{y}{x}", json!({"x": "1 2", "y": "{x}"})).unwrap(), "a 1 2-{x}1 2");
    assert_eq!(
        filled("{n} {b} {l} {o}", json!({"n": 1.50, "b": true, "l": [1, "a"], "o": {"k": null}})).unwrap(),
        r#"1.5 true [1,"a"] {"k":null}"#
    );
    assert_eq!(filled("{{x}} {{{x}}}", json!({"x": 1})).unwrap(), "{x} {1}");
    assert_eq!(filled("", json!({})).unwrap(), "");
}

#[test]
fn a_missing_value_or_null_gives_no_text() {
    assert_eq!(filled("a {x}", json!({})), None);
    assert_eq!(filled("a {x}", json!({"x": null})), None);
    assert_eq!(filled("a {x}", json!({"x": ""})).unwrap(), "a ");
}

#[test]
fn secrets_have_their_own_placeholders() {
    let template = TextTemplate::parse("Bearer {secret:key}{x}").unwrap();
    assert_eq!(template.placeholders().collect::<Vec<_>>(), ["x"]);
    assert_eq!(template.secret_names().map(|name| &**name).collect::<Vec<_>>(), ["key"]);
    let known = SecretMap::from([("key".into(), "k-1".to_owned().into())]);
    assert_eq!(template.fill(&object(json!({"x": 2})), &known, str::to_owned).unwrap(), "Bearer k-12");
    assert_eq!(template.fill(&object(json!({"x": 2})), &SecretMap::new(), str::to_owned), None);
    // An argument cannot refer to a secret.
    assert_eq!(filled("{x}", json!({"x": "{secret:key}"})).unwrap(), "{secret:key}");
}

#[test]
fn unbalanced_braces_are_refused() {
    for (text, problem) in [
        ("a {x", "an unclosed brace"),
        ("{a{b}", "an unclosed brace"),
        ("x}", "an unmatched closing brace"),
        ("{}", "braces without a name"),
        ("{secret:}", "braces without a name"),
    ] {
        let found = TextTemplate::parse(text).unwrap_err();
        assert!(found.starts_with(problem), "{text}: {found}");
    }
}

#[test]
fn only_unreserved_characters_are_not_encoded() {
    assert_eq!(percent_encode("aZ09-._~"), "aZ09-._~");
    assert_eq!(percent_encode("a/b?c#d&e=f%+ ü\\"), "a%2Fb%3Fc%23d%26e%3Df%25%2B%20%C3%BC%5C");
}
