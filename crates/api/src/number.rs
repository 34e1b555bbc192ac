//! Reading whole numbers.

use serde::{Deserialize, Deserializer};

/// Reads a whole number in any notation: for JSON Schema, `5.0` is an integer too.
///
/// # Errors
/// If the value is not a whole number, or does not fit.
pub fn whole<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum WholeOrFloat {
        Whole(i64),
        Point(f64),
    }
    let value = match WholeOrFloat::deserialize(deserializer) {
        Ok(WholeOrFloat::Whole(value)) => Some(value),
        // A float is exact below 2^53. Nobody means a time or a count above.
        #[allow(clippy::cast_possible_truncation, reason = "whole, and within the bound checked here")]
        Ok(WholeOrFloat::Point(value)) if value.fract() == 0.0 && value.abs() < 9e15 => Some(value as i64),
        _ => None,
    };
    value
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| serde::de::Error::custom("not a whole number that fits"))
}

/// Reads a whole number that may be null or missing.
///
/// # Errors
/// If the value is neither null nor a whole number that fits.
pub fn optional_whole<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    #[derive(Deserialize)]
    #[serde(bound(deserialize = "T: TryFrom<i64>"))]
    struct WholeNumber<T>(#[serde(deserialize_with = "whole")] T);
    Ok(Option::<WholeNumber<T>>::deserialize(deserializer)?.map(|WholeNumber(value)| value))
}
