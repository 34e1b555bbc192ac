//! Validates short texts in requests.

use super::ApiError;
use crate::short_text::check_short_text;

/// Validates a short text.
pub(super) fn read_text(field: &str, text: String) -> Result<String, ApiError> {
    Ok(check_short_text(field, text)?)
}

/// Validates an optional short text.
pub(super) fn read_optional_text(field: &str, text: Option<String>) -> Result<Option<String>, ApiError> {
    text.map(|text| read_text(field, text)).transpose()
}
