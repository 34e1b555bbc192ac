//! Schemas as each provider wants them: what comes out is what the provider takes, and fits whatever the original
//! fits.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail by panicking"
)]

#[path = "corpus/mod.rs"]
mod corpus;
#[path = "schema/dialects.rs"]
mod dialects;
#[path = "schema/generator.rs"]
mod generator;
#[path = "schema/golden.rs"]
mod golden;
#[path = "schema/hostile.rs"]
mod hostile;
#[path = "schema/pitfalls.rs"]
mod pitfalls;
#[path = "schema/strict.rs"]
mod strict;

use std::collections::HashMap;

use generator::SeededRng;
use serde_json::Value;
use toolway_models::schema::{ConvertedSchema, SchemaTarget, convert_parameters};
use toolway_types::RawJson;

/// Number of generated schemas, and of values for each.
const SCHEMAS: u64 = 120;
const VALUES: usize = 12;

/// The value with the names that its properties have there.
fn renamed(converted: &ConvertedSchema, value: &Value) -> Value {
    let names: HashMap<_, _> = converted.arguments.renamed.iter().map(|(sent, own)| (own, sent)).collect();
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (names.get(name).map_or(name, |sent| *sent).clone(), value.clone()));
            fields.collect()
        }
        other => other.clone(),
    }
}

#[test]
fn values_valid_in_the_original_are_valid_in_the_converted_schema() {
    let (mut fitting, mut sent) = (0, 0);
    for seed in 0..SCHEMAS {
        let mut chance = SeededRng::new(seed);
        let original = generator::parameters(&mut chance);
        let Ok(validator) = jsonschema::validator_for(&original) else { panic!("{seed}: {original}") };
        let raw = RawJson::from(&original);
        for target in [SchemaTarget::Gemini, SchemaTarget::Anthropic, SchemaTarget::OpenAi] {
            let Ok(converted) = convert_parameters(Some(&raw), target) else { continue };
            sent += 1;
            assert_eq!(
                dialects::problems(target, &converted),
                Vec::<String>::new(),
                "{seed} {target:?}\n{original}\n{converted:?}"
            );
            let Some(schema) = &converted.schema else { continue };
            let converted_validator = jsonschema::validator_for(&schema.to_value()).unwrap();
            for _ in 0..VALUES {
                let value = generator::value(&original, &original, &mut chance, 0);
                if value.is_object() && validator.is_valid(&value) {
                    fitting += 1;
                    let value = renamed(&converted, &value);
                    let errors: Vec<_> =
                        converted_validator.iter_errors(&value).map(|error| error.to_string()).collect();
                    assert!(
                        errors.is_empty(),
                        "{seed} {target:?}: {errors:?}\n{original}\n{schema:?}\n{value}"
                    );
                }
            }
        }
    }
    assert!(fitting > 800, "only {fitting} values fitted their schema");
    assert!(sent > 300, "only {sent} schemas could be said");
}

#[test]
fn a_loosened_schema_reports_its_losses() {
    for seed in 0..SCHEMAS {
        let mut chance = SeededRng::new(seed);
        let original = generator::parameters(&mut chance);
        // Draft 7 lets a validator check formats, later ones do not.
        let validator = jsonschema::options().should_validate_formats(false).build(&original).unwrap();
        let raw = RawJson::from(&original);
        for target in [SchemaTarget::Gemini, SchemaTarget::Anthropic, SchemaTarget::OpenAi] {
            let Ok(converted) = convert_parameters(Some(&raw), target) else { continue };
            let Some(schema) = converted.schema.as_ref().filter(|_| converted.losses.is_empty()) else {
                continue;
            };
            let sent = jsonschema::validator_for(&schema.to_value()).unwrap();
            for _ in 0..VALUES {
                let value = generator::value(&original, &original, &mut chance, 0);
                if value.is_object() && sent.is_valid(&value) {
                    assert!(validator.is_valid(&value), "{seed} {target:?}\n{original}\n{schema:?}\n{value}");
                }
            }
        }
    }
}
