//! The dialect of each target, as a meta-schema written from its documentation.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;
use toolway_models::schema::{ConvertedSchema, SchemaTarget};

fn compiled(text: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

static GEMINI: LazyLock<Validator> = LazyLock::new(|| compiled(include_str!("../dialects/gemini.json")));
static ANTHROPIC: LazyLock<Validator> =
    LazyLock::new(|| compiled(include_str!("../dialects/anthropic.json")));
static OPENAI: LazyLock<Validator> = LazyLock::new(|| compiled(include_str!("../dialects/openai.json")));
static STRICT: LazyLock<Validator> =
    LazyLock::new(|| compiled(include_str!("../dialects/openai_strict.json")));

/// Returns the problems of a schema for a target.
pub(crate) fn problems(target: SchemaTarget, converted: &ConvertedSchema) -> Vec<String> {
    let Some(schema) = &converted.schema else {
        return if target == SchemaTarget::Gemini { Vec::new() } else { vec!["there is none".to_owned()] };
    };
    let schema = schema.to_value();
    let dialect = match target {
        SchemaTarget::Gemini => &*GEMINI,
        SchemaTarget::Anthropic => &*ANTHROPIC,
        SchemaTarget::OpenAi => &*OPENAI,
        SchemaTarget::OpenAiStrict => &*STRICT,
        SchemaTarget::AnthropicOutput => return Vec::new(),
    };
    let mut problems: Vec<String> =
        dialect.iter_errors(&schema).map(|error| format!("{}: {error}", error.instance_path())).collect();
    if matches!(target, SchemaTarget::Gemini | SchemaTarget::OpenAiStrict) {
        required(&schema, target == SchemaTarget::OpenAiStrict, &mut problems);
    }
    problems
}

/// Checks that required names are among the properties; with `all`, that all properties are required.
fn required(schema: &Value, all: bool, problems: &mut Vec<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| required(item, all, problems)),
        Value::Object(fields) => {
            let names = |value: Option<&Value>| -> BTreeSet<String> {
                match value {
                    Some(Value::Array(names)) => {
                        names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                    }
                    Some(Value::Object(map)) => map.keys().cloned().collect(),
                    _ => BTreeSet::new(),
                }
            };
            let (wanted, known) = (names(fields.get("required")), names(fields.get("properties")));
            let is_schema = fields.get("required").is_none_or(Value::is_array);
            if is_schema && (!wanted.is_subset(&known) || (all && wanted != known)) {
                problems.push(format!("required is {wanted:?}, of {known:?}"));
            }
            fields.values().for_each(|value| required(value, all, problems));
        }
        _ => {}
    }
}
