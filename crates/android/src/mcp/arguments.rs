//! Converts arguments to strings, the only type in the MCP dialects.

use serde_json::{Number, Value};
use toolway_types::JsonObject;

/// Largest whole number below which every whole number is exact in a float (2 to the 53rd).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Converts each argument to a string. A string stays as it is, without quotes. A whole number has no
/// fraction, regardless of its notation and the declared type, because apps parse an integer. Objects and
/// arrays are compact JSON. Null is omitted.
#[must_use]
pub fn string_arguments(args: &JsonObject) -> Vec<(String, String)> {
    args.iter().filter_map(|(name, value)| Some((name.clone(), string(value)?))).collect()
}

fn string(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => plain(number),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    })
}

fn plain(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
            // Without exponent and without a negative zero.
            format!("{:.0}", if float == 0.0 { 0.0 } else { float })
        }
        _ => number.to_string(),
    }
}
