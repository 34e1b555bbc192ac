//! Text encodings by the names that people and models give them.

use encoding_rs::{Encoding, REPLACEMENT, UTF_8};
use toolway_types::{Code, ToolError};

/// Names to suggest, as the standard writes them.
const KNOWN: &[&str] = &[
    "UTF-8",
    "UTF-16LE",
    "UTF-16BE",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "windows-874",
    "ISO-8859-2",
    "ISO-8859-3",
    "ISO-8859-4",
    "ISO-8859-5",
    "ISO-8859-6",
    "ISO-8859-7",
    "ISO-8859-8",
    "ISO-8859-10",
    "ISO-8859-13",
    "ISO-8859-14",
    "ISO-8859-15",
    "ISO-8859-16",
    "latin1",
    "KOI8-R",
    "KOI8-U",
    "IBM866",
    "macintosh",
    "Shift_JIS",
    "EUC-JP",
    "ISO-2022-JP",
    "EUC-KR",
    "GBK",
    "gb18030",
    "Big5",
];
/// Minimum similarity of a suggested name.
const CLOSE_ENOUGH: f64 = 0.6;

/// Returns the encoding for a label of the WHATWG Encoding Standard (`latin1`, `sjis`, `utf8` and so on), with or
/// without separators. UTF-8 is the default.
///
/// # Errors
/// `invalid_arguments` with similar names.
pub(super) fn find_encoding(name: Option<&str>) -> Result<&'static Encoding, ToolError> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(UTF_8) };
    let bare = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = bare(name);
    let known = KNOWN.iter().copied().find(|known| bare(known) == wanted);
    let spellings = [name, wanted.as_str(), known.unwrap_or_default()];
    let found = spellings.into_iter().filter_map(|spelling| Encoding::for_label(spelling.as_bytes()));
    // The standard has an encoding that means "don't decode this".
    found.into_iter().find(|encoding| *encoding != REPLACEMENT).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> ToolError {
    let lower = name.to_lowercase();
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&lower, &known.to_lowercase());
    let mut close: Vec<_> = KNOWN.iter().map(|known| (likeness(known), *known)).collect();
    close.retain(|(likeness, _)| *likeness >= CLOSE_ENOUGH);
    close.sort_by(|(a, name_a), (b, name_b)| b.total_cmp(a).then(name_a.cmp(name_b)));
    let close: Vec<_> = close.into_iter().take(3).map(|(_, known)| known).collect();
    let mut message = format!("Unknown encoding {name:?}.");
    if !close.is_empty() {
        message.push_str(&format!(" Did you mean {}?", close.join(" or ")));
    }
    ToolError::new(Code::InvalidArguments, message)
        .with_hint("Encodings are named as on the web, such as UTF-8, UTF-16LE, windows-1252, Shift_JIS, GBK")
}

#[cfg(test)]
mod tests;
