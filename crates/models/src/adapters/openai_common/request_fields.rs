//! Values of fields of a request's body.

use toolway_types::RawJson;

use crate::request::{OutputSchema, ReasoningEffort};
use crate::schema::{self, SchemaTarget};

/// Returns the name of a reasoning effort.
pub(crate) fn effort_name(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None => "none",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

/// Returns the schema of a structured output, and whether it is strict. It is strict only if it already has strict
/// form, because nothing converts the response back.
pub(crate) fn output_schema(output: &OutputSchema) -> (RawJson, bool) {
    let strict = schema::convert_output_schema(&output.schema, SchemaTarget::OpenAiStrict)
        .ok()
        .and_then(|strict| strict.schema);
    let is_strict = strict.is_some_and(|strict| strict.to_value() == output.schema.to_value());
    (output.schema.clone(), is_strict)
}
