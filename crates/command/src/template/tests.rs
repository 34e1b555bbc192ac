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
fn a_value_is_one_element_whatever_it_holds() {
    let template = template(&["--", "{text}", "--n={n}", "{{{text}}}", ""]);
    let argv = filled(&template, json!({ "text": "a b; rm -rf ~ $(x) \"", "n": 1.5 }));
    assert_eq!(argv, ["--", "a b; rm -rf ~ $(x) \"", "--n=1.5", "{a b; rm -rf ~ $(x) \"}", ""]);
}

#[test]
fn values_that_are_no_text_are_json() {
    let template = template(&["{a}", "{b}", "{c}", "{d}"]);
    let argv = filled(&template, json!({ "a": [1, "x"], "b": { "k": null }, "c": true, "d": 12 }));
    assert_eq!(argv, [r#"[1,"x"]"#, r#"{"k":null}"#, "true", "12"]);
}

#[test]
fn an_element_without_its_value_goes_and_a_group_goes_together() {
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
fn a_value_is_not_searched_for_holes() {
    let template = template(&["{a}{b}"]);
    assert_eq!(filled(&template, json!({ "a": "{b}", "b": "{a}" })), ["{b}{a}"]);
}

#[test]
fn null_characters_are_refused() {
    let error = template(&["{a}"]).fill_element(json!({ "a": "x\0y" }).as_object().unwrap()).unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments);
}

#[test]
fn odd_braces_are_refused() {
    for element in ["{", "{a", "a}", "{}", "{a{b}"] {
        assert!(ArgvTemplate::parse(&[ArgDefinition::One(element.to_owned())]).is_err(), "{element}");
    }
}
