//! What others' conversions get wrong, by its number.

use serde_json::json;
use toolway_models::schema::{Target, parameters};
use toolway_types::RawJson;

use crate::corpus::schemas;

fn sent(name: &str, target: Target) -> String {
    parameters(Some(&schemas::get(name)), target)
        .unwrap()
        .schema
        .map(|schema| schema.get().to_owned())
        .unwrap_or_default()
}

#[test]
fn m1_gemini_gets_nested_items_and_no_parameters_where_there_are_none() {
    let rows = sent("nested_items", Target::Gemini);
    let inner = r#""items":{"type":"array","items":{"type":"object","properties":{"cell":{"type":"number"}},"required":["cell"],"additionalProperties":false}}"#;
    assert!(rows.contains(inner), "{rows}");
    for name in ["null", "empty", "empty_properties"] {
        assert_eq!(parameters(Some(&schemas::get(name)), Target::Gemini).unwrap().schema, None, "{name}");
    }
    assert_eq!(parameters(None, Target::Gemini).unwrap().schema, None);
    // An object whose names nobody knows is not the same as none.
    assert_eq!(sent("free_form", Target::Gemini), r#"{"type":"object","additionalProperties":true}"#);
}

#[test]
fn m1_gemini_gets_no_keyword_that_it_does_not_know() {
    let names = sent("property_names", Target::Gemini);
    for keyword in ["$schema", "$id", "propertyNames", "minProperties"] {
        assert!(!names.contains(&format!("\"{keyword}\"")), "{keyword} in {names}");
    }
    let lost = parameters(Some(&schemas::get("property_names")), Target::Gemini).unwrap().lost;
    assert_eq!(
        lost,
        [
            "#/properties/set: \"propertyNames\" is left out",
            "#/properties/set: \"minProperties\" is left out"
        ]
    );
}

#[test]
fn m2_openai_that_is_not_strict_gets_the_schema_as_it_is() {
    for name in [
        "optional",
        "property_names",
        "refs",
        "recursive",
        "dependencies_draft_7",
        "annotations",
        "unevaluated",
    ] {
        let raw = schemas::get(name);
        let converted = parameters(Some(&raw), Target::OpenAi).unwrap();
        assert_eq!(converted.schema.unwrap().get(), raw.get(), "{name}");
        assert_eq!(converted.lost, Vec::<String>::new());
    }
}

#[test]
fn m3_alternatives_at_the_root_become_one_object() {
    for target in [Target::Anthropic, Target::OpenAi] {
        let place = sent("one_of_kinds", target);
        assert!(
            place.contains(r#""kind":{"enum":["address","point"]}"#) || place.contains(r#""kind":{"anyOf""#),
            "{place}"
        );
        assert!(place.contains(r#""additionalProperties":false"#), "both are closed: {place}");
        assert!(place.contains(r#""required":["kind"]"#), "both need it: {place}");
        assert!(!place.starts_with(r#"{"oneOf""#));
    }
}

#[test]
fn m3_what_needs_one_of_several_says_so_in_words() {
    let text = sent("any_of_needs", Target::Anthropic);
    assert!(text.contains("needs title, or due"), "{text}");
}

#[test]
fn m14_the_same_schema_gives_the_same_bytes_and_keeps_its_order() {
    for (name, text) in schemas::ALL {
        for target in [Target::OpenAi, Target::OpenAiStrict, Target::Anthropic, Target::Gemini] {
            let raw = RawJson::parse(text).unwrap();
            assert_eq!(parameters(Some(&raw), target), parameters(Some(&raw), target), "{name} {target:?}");
        }
    }
    let raw = RawJson::parse(r#"{"type":"object","properties":{"z":{"type":"string","description":"Z"},"a":{"description":"A","type":"string"},"m":{"type":"string"}}}"#).unwrap();
    for target in [Target::OpenAi, Target::OpenAiStrict, Target::Anthropic, Target::Gemini] {
        let schema = parameters(Some(&raw), target).unwrap().schema.unwrap();
        let at = |name: &str| schema.get().find(&format!("\"{name}\":{{")).unwrap();
        assert!(at("z") < at("a") && at("a") < at("m"), "{target:?} {schema:?}");
    }
    let gemini = parameters(Some(&raw), Target::Gemini).unwrap().schema.unwrap();
    assert_eq!(gemini.to_value()["propertyOrdering"], json!(["z", "a", "m"]), "Google loses it otherwise");
}
