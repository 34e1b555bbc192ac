//! Arguments as strings, which is all that the MCP dialects pass.

use serde_json::{Number, Value};
use toolway_types::JsonObject;

/// Largest whole number that a floating-point number holds exactly (2 to the 53rd).
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Each argument as a string: a string as itself, without quotes; a whole number without a fraction, however it
/// was written and whatever type the tool declares, since apps parse an integer; objects and arrays as compact
/// JSON. Null is left out.
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
            // Written without exponent and without a sign of zero.
            format!("{:.0}", if float == 0.0 { 0.0 } else { float })
        }
        _ => number.to_string(),
    }
}
