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
/// How alike a name must be to be suggested.
const CLOSE_ENOUGH: f64 = 0.6;

/// The encoding of this name: a label of the WHATWG Encoding Standard (`latin1`, `sjis`, `utf8` and so on),
/// however it is joined. UTF-8 where there is none.
///
/// # Errors
/// `invalid_arguments`, with close names.
pub(super) fn named(name: Option<&str>) -> Result<&'static Encoding, ToolError> {
    let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else { return Ok(UTF_8) };
    let joined = name.replace(['_', ' '], "-");
    let bare: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let spellings = [name, joined.as_str(), bare.as_str()];
    // The standard has an encoding that means "don't decode this".
    let found = spellings.into_iter().filter_map(|spelling| Encoding::for_label(spelling.as_bytes()));
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
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_however_they_are_written() {
        let cases = [
            ("UTF-8", "UTF-8"),
            ("utf8", "UTF-8"),
            ("utf_8", "UTF-8"),
            (" Utf-8 ", "UTF-8"),
            ("", "UTF-8"),
            ("utf-16", "UTF-16LE"),
            ("UTF16BE", "UTF-16BE"),
            ("latin-1", "windows-1252"),
            ("ISO_8859_1", "windows-1252"),
            ("cp1252", "windows-1252"),
            ("shift-jis", "Shift_JIS"),
            ("SJIS", "Shift_JIS"),
            ("big5", "Big5"),
            ("GB 18030", "gb18030"),
            ("koi8-r", "KOI8-R"),
        ];
        for (label, name) in cases {
            assert_eq!(named(Some(label)).unwrap().name(), name, "{label}");
        }
        assert_eq!(named(None).unwrap(), UTF_8);
    }

    #[test]
    fn an_unknown_one_is_refused_with_close_names() {
        let told = |name| {
            let error = named(Some(name)).unwrap_err();
            assert_eq!(error.code, Code::InvalidArguments);
            error.message
        };
        assert_eq!(told("UTF-7"), "Unknown encoding \"UTF-7\". Did you mean UTF-8 or UTF-16BE or UTF-16LE?");
        assert!(told("windows-1552").contains("windows-1252"));
        assert_eq!(told("🦀"), "Unknown encoding \"🦀\".");
        // Labels of the encoding that decodes nothing.
        assert!(told("replacement").starts_with("Unknown encoding"));
        assert!(told("iso-2022-kr").starts_with("Unknown encoding"));
    }
}
