//! Whole numbers as JSON Schema means them: `5.0` is the integer 5 there, which serde refuses.

use serde::{Deserialize, Deserializer};

/// Reads an optional whole number, `5.0` and `5e0` included.
///
/// # Errors
/// Where it is not a whole number from 0 to 2⁵³ (or, written without a point, to 2⁶⁴ − 1).
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    /// The largest up to which every whole number is a double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(number) = number.as_u64() {
        return Ok(Some(number));
    }
    match number.as_f64() {
        Some(number) if number.fract() == 0.0 && (0.0..=EXACT).contains(&number) => Ok(Some(number as u64)),
        _ => Err(serde::de::Error::custom(format!("{number} is not a whole number of at least 0"))),
    }
}
