//! Specs of tools, their schemas, and the arguments of calls.

use serde_json::json;
use toolway_core::{Arguments, RawArguments, Schema, ToolSpec};
use toolway_types::pattern::{MAX_PATTERN_BYTES, PatternCost, SchemaPatterns};
use toolway_types::{ExposedName, RawJson, Slug, SpecDocument};

/// Tests a tool's spec: compiles schemas and validates values with them.
pub fn spec(data: &[u8]) {
    let Ok(document) = serde_json::from_slice::<SpecDocument>(data) else { return };
    let given = document.parameters.clone();
    let Ok(spec) = ToolSpec::compile(document) else { return };
    let exposed = ExposedName::of(&Slug::from_label("fuzz"), spec.name().as_str());
    assert!(exposed.as_str().parse::<ExposedName>().is_ok(), "{exposed}");
    // A schema means "no parameters" only if it says so.
    if spec.parameters().raw().is_none() {
        let given = given.as_ref().map_or("null", |raw| raw.get());
        assert!(given == "null" || given.trim_start_matches(['[', ' ', '\t', '\r', '\n']) == "]", "{given}");
    }
    for schema in [Some(spec.parameters()), spec.output()].into_iter().flatten() {
        validate_values(schema);
    }
}

fn validate_values(schema: &Schema) {
    for value in [
        serde_json::json!({}),
        serde_json::json!({"a": {"a": {"a": []}}, "b": [1, "x", null]}),
        serde_json::json!({"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "n": 1e300}),
        serde_json::json!([[[[]]]]),
        serde_json::json!("text"),
    ] {
        let _ = schema.violations(&value);
    }
}

/// Tests the arguments of a call by a caller or a model.
pub fn arguments(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(arguments) = Arguments::parse(RawArguments::Text(text.to_owned())) else { return };
    assert!(arguments.value().is_object());
    // Only empty input means no arguments.
    if arguments.raw().get() == "{}" {
        let said: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(matches!(said.as_str(), "" | "{}" | "\"\"" | "null"), "{text:?}");
    }
}

/// Tests a pattern of a schema in the first line, and a text that it is matched with in the next lines. The fuzzer's
/// limits of time and memory bound its cost.
pub fn schema_pattern(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, text) = text.split_once('\n').unwrap_or((text, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"));
    let document = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": pattern}},
        "patternProperties": {pattern: {"maxLength": 1 << 20}},
    });
    let schema = Schema::from_parameters(Some(&RawJson::from(&document)));
    let cost = match PatternCost::of(pattern) {
        Ok(cost) => cost,
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            assert!(schema.is_err(), "too expensive to compile, but compiled: {pattern:?}");
            return;
        }
    };
    assert!(cost.bytes <= MAX_PATTERN_BYTES);
    let counted = SchemaPatterns::of(&document).expect("one pattern is never too expensive in total");
    assert_eq!((counted.count, counted.bytes), (1, cost.bytes), "equal patterns count once");
    let Ok(schema) = schema else { return };
    let value = json!({"a": text, text: text});
    let found = schema.violations(&value);
    assert_eq!(schema.violations(&value), found, "the same value gives the same answer");
    assert!(schema.violations(&json!({})).is_empty(), "no property is required");
}
