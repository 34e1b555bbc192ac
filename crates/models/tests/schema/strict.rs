//! The strict form and the way back from it.

use serde_json::{Value, json};
use toolway_models::schema::ArgumentMapping;
use toolway_models::schema::{SchemaTarget, convert_parameters};
use toolway_models::tools::ToolFormat;
use toolway_models::{ToolDefinition, ToolSet};
use toolway_types::RawJson;

use crate::dialects;
use crate::generator::{self, SeededRng};

/// Returns the arguments as a strict model writes them: null for absent properties.
fn fill_with_nulls(schema: &Value, value: &Value) -> Value {
    match (schema, value) {
        (Value::Object(fields), Value::Object(object)) => {
            let Some(Value::Object(properties)) = fields.get("properties") else { return value.clone() };
            let one = |(name, schema): (&String, &Value)| {
                (name.clone(), object.get(name).map_or(Value::Null, |value| fill_with_nulls(schema, value)))
            };
            properties.iter().map(one).collect()
        }
        (Value::Object(fields), Value::Array(items)) => match fields.get("items") {
            Some(schema) => items.iter().map(|item| fill_with_nulls(schema, item)).collect(),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

fn restore_arguments(schema: &Value, arguments: &str) -> String {
    let tool = ToolDefinition::new("t", "", Some(RawJson::from(schema)));
    let set = ToolSet::new(vec![std::sync::Arc::new(tool)]);
    let converted = set.converted_to(ToolFormat("strict"), |tool| {
        let converted = convert_parameters(tool.parameters.as_ref(), SchemaTarget::OpenAiStrict)?;
        let json = converted.schema.unwrap_or_default();
        Ok(toolway_models::tools::ConvertedTool {
            json,
            losses: converted.losses,
            arguments: converted.arguments,
        })
    });
    converted.restore_arguments("t", arguments.to_owned())
}

/// Objects, lists and plain values as the strict form can say them.
fn plain(chance: &mut SeededRng, depth: usize) -> Value {
    match chance.next_below(if depth == 0 { 4 } else { 7 }) {
        0 => json!({ "type": "string" }),
        1 => json!({ "type": "integer" }),
        2 => json!({ "type": ["boolean", "null"] }),
        3 => json!({ "type": "string", "enum": ["a", "b"] }),
        4 => json!({ "type": "array", "items": plain(chance, depth - 1) }),
        _ => object(chance, depth),
    }
}

fn object(chance: &mut SeededRng, depth: usize) -> Value {
    let (mut properties, mut required) = (serde_json::Map::new(), Vec::new());
    for name in ["a", "b", "c", "d"] {
        properties.insert(name.to_owned(), plain(chance, depth - 1));
        if chance.one_in(2) {
            required.push(name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

#[test]
fn nulls_that_strict_form_adds_are_removed_again() {
    let mut changed = 0;
    for seed in 0..300 {
        let mut chance = SeededRng::new(seed);
        let schema = object(&mut chance, 3);
        let converted =
            convert_parameters(Some(&RawJson::from(&schema)), SchemaTarget::OpenAiStrict).unwrap();
        assert_eq!(dialects::problems(SchemaTarget::OpenAiStrict, &converted), Vec::<String>::new());
        assert_eq!(converted.arguments, ArgumentMapping { is_strict: true, renamed: Vec::new() });
        let strict = jsonschema::validator_for(&converted.schema.unwrap().to_value()).unwrap();
        let own = jsonschema::validator_for(&schema).unwrap();
        for _ in 0..10 {
            let value = generator::value(&schema, &schema, &mut chance, 0);
            let known = fill_with_nulls(&schema, &value);
            if !own.is_valid(&value) {
                continue;
            }
            assert!(strict.is_valid(&known), "{seed}: {schema}\n{known}");
            let back: Value = serde_json::from_str(&restore_arguments(&schema, &known.to_string())).unwrap();
            assert!(own.is_valid(&back), "{seed}: {schema}\n{known}\n{back}");
            changed += usize::from(back != known);
        }
    }
    assert!(changed > 300, "only {changed} had something to take out");
}

#[test]
fn other_values_keep_their_bytes() {
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "number" }, "m": { "type": ["number", "null"] }, "o": { "type": "object", "properties": { "p": { "type": "string" } } }
    }, "required": ["n"] });
    for (given, own) in [
        (r#"{ "n" : 1.50e1, "m":null }"#, r#"{ "n" : 1.50e1, "m":null }"#),
        (r#"{"n":12345678901234567890123,"m":null,"o":null}"#, r#"{"n":12345678901234567890123,"m":null}"#),
        (r#"{"o":{"p":null},"n":1.0}"#, r#"{"o":{},"n":1.0}"#),
        // What must be there is not taken out: the tool's own schema has the word.
        (r#"{"n":null}"#, r#"{"n":null}"#),
        // No arguments at all, or broken ones, are nobody's to mend.
        ("", ""),
        (r#"{"o":nul"#, r#"{"o":nul"#),
        ("[null]", "[null]"),
    ] {
        assert_eq!(restore_arguments(&schema, given), own);
    }
}

#[test]
fn nulls_are_removed_behind_references_and_in_alternatives() {
    let schema = json!({
        "type": "object",
        "properties": {
            "one": { "$ref": "#/$defs/one" },
            "list": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/one" }, { "type": "string" }] } }
        },
        "required": ["one", "list"],
        "$defs": { "one": { "type": "object", "properties": { "a": { "type": "string" }, "b": { "enum": ["x", null] } }, "required": [] } }
    });
    let given = r#"{"one":{"a":null,"b":null},"list":["x",{"a":null,"b":"x"}]}"#;
    assert_eq!(restore_arguments(&schema, given), r#"{"one":{"b":null},"list":["x",{"b":"x"}]}"#);
}

#[test]
fn a_schema_that_strict_mode_cannot_express_is_sent_as_non_strict_m2() {
    for (schema, why) in [
        (
            json!({ "type": "object", "properties": { "m": { "type": "object", "additionalProperties": { "type": "string" } } } }),
            "#/properties/m: it allows properties that it does not list",
        ),
        (json!({ "type": "object", "properties": { "a": {} } }), "#/properties/a: it has no type"),
        (
            json!({ "type": "object", "properties": { "a": { "type": "array" } } }),
            "#/properties/a: the array has no items",
        ),
        (json!({ "anyOf": [{ "type": "object" }] }), "#: the type of the root is not object"),
        (
            json!({ "type": "object", "properties": { "a": { "allOf": [{ "type": "string" }, { "minLength": 1 }] } } }),
            "#/properties/a: allOf is not supported",
        ),
        (
            json!({ "type": "object", "properties": {}, "patternProperties": { "^a": {} }, "additionalProperties": false }),
            "#: patternProperties is not supported",
        ),
    ] {
        let raw = RawJson::from(&schema);
        assert_eq!(convert_parameters(Some(&raw), SchemaTarget::OpenAiStrict).unwrap_err().0, why);
        assert!(convert_parameters(Some(&raw), SchemaTarget::OpenAi).is_ok());
    }
}
