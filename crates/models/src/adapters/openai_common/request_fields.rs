//! Values of fields of a request's body.

use toolway_types::RawJson;

use crate::request::{OutputSchema, ReasoningEffort};
use crate::schema::{self, SchemaTarget};

/// How OpenAI's APIs call it.
pub(crate) fn effort_name(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None => "none",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
    }
}

/// The schema of an answer, and whether it is strict: only where its strict form is no other, since nobody turns an
/// answer's text back.
pub(crate) fn output_schema(output: &OutputSchema) -> (RawJson, bool) {
    let strict = schema::convert_output_schema(&output.schema, SchemaTarget::OpenAiStrict)
        .ok()
        .and_then(|strict| strict.schema);
    let is_strict = strict.is_some_and(|strict| strict.to_value() == output.schema.to_value());
    (output.schema.clone(), is_strict)
}
