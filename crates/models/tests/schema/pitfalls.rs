//! Schema conversions that are known to fail elsewhere (docs/internals/pitfalls.md, M1 to M3 and M14).

use serde_json::json;
use toolway_models::schema::{SchemaTarget, convert_parameters};
use toolway_types::RawJson;

use crate::corpus::schemas;

fn converted_text(name: &str, target: SchemaTarget) -> String {
    convert_parameters(Some(&schemas::get(name)), target)
        .unwrap()
        .schema
        .map(|schema| schema.get().to_owned())
        .unwrap_or_default()
}

#[test]
fn gemini_schemas_keep_nested_items_and_omit_empty_parameters_m1() {
    let rows = converted_text("nested_items", SchemaTarget::Gemini);
    let inner = r#""items":{"type":"array","items":{"type":"object","properties":{"cell":{"type":"number"}},"required":["cell"],"additionalProperties":false}}"#;
    assert!(rows.contains(inner), "{rows}");
    for name in ["null", "empty", "empty_properties"] {
        assert_eq!(
            convert_parameters(Some(&schemas::get(name)), SchemaTarget::Gemini).unwrap().schema,
            None,
            "{name}"
        );
    }
    assert_eq!(convert_parameters(None, SchemaTarget::Gemini).unwrap().schema, None);
    // An object whose names nobody knows is not the same as none.
    assert_eq!(
        converted_text("free_form", SchemaTarget::Gemini),
        r#"{"type":"object","additionalProperties":true}"#
    );
}

#[test]
fn gemini_schemas_contain_only_known_keywords_m1() {
    let names = converted_text("property_names", SchemaTarget::Gemini);
    for keyword in ["$schema", "$id", "propertyNames", "minProperties"] {
        assert!(!names.contains(&format!("\"{keyword}\"")), "{keyword} in {names}");
    }
    let lost =
        convert_parameters(Some(&schemas::get("property_names")), SchemaTarget::Gemini).unwrap().losses;
    assert_eq!(
        lost,
        [
            "#/properties/set: \"propertyNames\" is left out",
            "#/properties/set: \"minProperties\" is left out"
        ]
    );
}

#[test]
fn non_strict_openai_receives_the_schema_unchanged_m2() {
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
        let converted = convert_parameters(Some(&raw), SchemaTarget::OpenAi).unwrap();
        assert_eq!(converted.schema.unwrap().get(), raw.get(), "{name}");
        assert_eq!(converted.losses, Vec::<String>::new());
    }
}

#[test]
fn root_alternatives_are_merged_into_one_object_m3() {
    for target in [SchemaTarget::Anthropic, SchemaTarget::OpenAi] {
        let place = converted_text("one_of_kinds", target);
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
fn a_one_of_several_requirement_is_described_in_text_m3() {
    let text = converted_text("any_of_needs", SchemaTarget::Anthropic);
    assert!(text.contains("needs title, or due"), "{text}");
}

#[test]
fn the_same_schema_gives_the_same_bytes_and_keeps_its_key_order_m14() {
    for (name, text) in schemas::ALL {
        for target in
            [SchemaTarget::OpenAi, SchemaTarget::OpenAiStrict, SchemaTarget::Anthropic, SchemaTarget::Gemini]
        {
            let raw = RawJson::parse(text).unwrap();
            assert_eq!(
                convert_parameters(Some(&raw), target),
                convert_parameters(Some(&raw), target),
                "{name} {target:?}"
            );
        }
    }
    let raw = RawJson::parse(r#"{"type":"object","properties":{"z":{"type":"string","description":"Z"},"a":{"description":"A","type":"string"},"m":{"type":"string"}}}"#).unwrap();
    for target in
        [SchemaTarget::OpenAi, SchemaTarget::OpenAiStrict, SchemaTarget::Anthropic, SchemaTarget::Gemini]
    {
        let schema = convert_parameters(Some(&raw), target).unwrap().schema.unwrap();
        let at = |name: &str| schema.get().find(&format!("\"{name}\":{{")).unwrap();
        assert!(at("z") < at("a") && at("a") < at("m"), "{target:?} {schema:?}");
    }
    let gemini = convert_parameters(Some(&raw), SchemaTarget::Gemini).unwrap().schema.unwrap();
    assert_eq!(gemini.to_value()["propertyOrdering"], json!(["z", "a", "m"]), "Google loses it otherwise");
}
