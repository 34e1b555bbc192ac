//! JSON with comments and trailing commas, as editors keep it.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

/// Plain JSON, with comments and trailing commas. Nothing else that a lenient parser would accept, because the
/// program that the file belongs to may not.
pub const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses a text. A byte order mark at its start is skipped.
///
/// # Errors
/// The reason why it is not JSON, with line and column.
pub fn parse(text: &str) -> Result<Value, String> {
    let (_, text) = split_byte_order_mark(text);
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    parse_to_serde_value(text, &OPTIONS).map_err(|error| error.to_string())
}

/// Splits a byte order mark from the start of a text. Empty if there is none.
#[must_use]
pub fn split_byte_order_mark(text: &str) -> (&str, &str) {
    let length = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text.split_at(length)
}

#[cfg(test)]
mod tests;
