//! Conversion of a tool result to the `response` of a function: `{"output": …}`, or `{"error": …}` for an error.

use serde_json::value::RawValue;
use toolway_types::{Outcome, RawJson};

use crate::call_arguments::is_readable;
use crate::raw_fields::RawFields;
use crate::tool_result::{self, ImagePlacement};

/// Returns the object. `kinds` are the media types of images that the model accepts.
pub(super) fn function_response(outcome: &Outcome, pictures: ImagePlacement, kinds: &[&str]) -> RawJson {
    let envelope = tool_result::envelope_text(outcome, pictures, kinds);
    let fields =
        serde_json::from_str::<RawFields<'_>>(&envelope).map(|RawFields(fields)| fields).unwrap_or_default();
    let said: Vec<_> = fields.into_iter().filter(|(name, _)| name != "status").collect();
    let field = if outcome.is_success() { "output" } else { "error" };
    let value = match said.as_slice() {
        [(name, result)] if name == "result" => to_owned_raw(result),
        _ => serde_json::value::to_raw_value(&RawFields(said)).unwrap_or_default(),
    };
    let is_sent_as_json = is_readable(value.get()) && !has_reference(value.get());
    let value = if is_sent_as_json { value } else { as_json_string(value.get()) };
    let object = RawFields(vec![(field.into(), &value)]);
    RawJson::from_value(&object).unwrap_or_else(|_| RawJson::empty_object())
}

fn to_owned_raw(raw: &RawValue) -> Box<RawValue> {
    raw.to_owned()
}

/// Returns whether it has a field `$ref`. The API takes that for the name of an image in the result, and refuses the
/// request if no image has that name.
fn has_reference(json: &str) -> bool {
    json.contains(r#""$ref""#)
}

/// JSON as a text in JSON.
fn as_json_string(json: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(json).unwrap_or_default()
}

#[cfg(test)]
mod tests;
