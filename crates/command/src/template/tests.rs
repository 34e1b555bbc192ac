use serde_json::json;

use super::*;

fn template(args: &[&str]) -> ArgvTemplate {
    let args: Vec<_> = args.iter().map(|arg| ArgDefinition::One((*arg).to_owned())).collect();
    ArgvTemplate::parse(&args).unwrap()
}

fn filled(template: &ArgvTemplate, args: Value) -> Vec<String> {
    template.fill_element(args.as_object().unwrap()).unwrap()
}

#[test]
fn a_value_is_never_split_into_several_elements() {
    let template = template(&["--", "{text}", "--n={n}", "{{{text}}}", ""]);
    let argv = filled(&template, json!({ "text": "a b; rm -rf ~ $(x) \"", "n": 1.5 }));
    assert_eq!(argv, ["--", "a b; rm -rf ~ $(x) \"", "--n=1.5", "{a b; rm -rf ~ $(x) \"}", ""]);
}

#[test]
fn values_other_than_strings_are_inserted_as_json() {
    let template = template(&["{a}", "{b}", "{c}", "{d}"]);
    let argv = filled(&template, json!({ "a": [1, "x"], "b": { "k": null }, "c": true, "d": 12 }));
    assert_eq!(argv, [r#"[1,"x"]"#, r#"{"k":null}"#, "true", "12"]);
}

#[test]
fn an_element_or_group_without_its_value_is_omitted() {
    let args = [
        ArgDefinition::One("--all={all}".into()),
        ArgDefinition::Together(vec!["--limit".into(), "{limit}".into()]),
        ArgDefinition::One("last".into()),
    ];
    let template = ArgvTemplate::parse(&args).unwrap();
    assert_eq!(filled(&template, json!({})), ["last"]);
    assert_eq!(filled(&template, json!({ "all": null, "limit": 3 })), ["--limit", "3", "last"]);
    assert_eq!(template.placeholders().collect::<Vec<_>>(), ["all", "limit"]);
}

#[test]
fn placeholders_in_a_value_are_not_replaced() {
    let template = template(&["{a}{b}"]);
    assert_eq!(filled(&template, json!({ "a": "{b}", "b": "{a}" })), ["{b}{a}"]);
}

#[test]
fn null_characters_are_refused() {
    let error = template(&["{a}"]).fill_element(json!({ "a": "x\0y" }).as_object().unwrap()).unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments);
}

#[test]
fn unbalanced_braces_are_an_error() {
    for element in ["{", "{a", "a}", "{}", "{a{b}"] {
        assert!(ArgvTemplate::parse(&[ArgDefinition::One(element.to_owned())]).is_err(), "{element}");
    }
}
