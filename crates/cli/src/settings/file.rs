//! Parses `toolway.toml` with line numbers.

use std::path::{Path, PathBuf};

use serde_json::{Number, Value};
use toml::de::{DeTable, DeValue};
use toolway_files::bounded_read::{self, ReadError};

use super::key::SettingKey;
use super::{SettingDiagnostic, SettingEntry, SettingOrigin};
use crate::error::io_error_message;

/// Maximum size of a settings file in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the file. Returns its path if it exists.
pub(super) fn read(
    path: &Path,
    must_exist: bool,
    set: &mut Vec<SettingEntry>,
    wrong: &mut Vec<SettingDiagnostic>,
) -> Option<PathBuf> {
    let unreadable = |what: String| {
        let hint = if must_exist { "use a readable file with --config" } else { "correct its permissions" };
        SettingDiagnostic::new(
            SettingOrigin::Default,
            format!("cannot read the settings file {}: {what}", path.display()),
            hint,
        )
    };
    let unread = match bounded_read::read_input(path, MAX_BYTES) {
        Ok(Some(text)) => {
            parse(path, &text, set, wrong);
            return Some(path.to_owned());
        }
        Ok(None) if !must_exist => return None,
        Ok(None) => "no such file or directory".to_owned(),
        Err(ReadError::Io(error)) => io_error_message(&error),
        Err(ReadError::TooLong(_)) => "it is larger than 1 MiB".to_owned(),
        Err(error @ ReadError::NotRegular) => error.to_string(),
    };
    wrong.push(unreadable(unread));
    None
}

/// Parses the text of a file.
pub(super) fn parse(
    path: &Path,
    text: &str,
    set: &mut Vec<SettingEntry>,
    wrong: &mut Vec<SettingDiagnostic>,
) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = LineIndex::new(path, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let origin = lines.origin(error.span().map_or(0, |span| span.start));
        let what = format!("invalid TOML: {}", error.message().replace('\n', ", "));
        wrong.push(SettingDiagnostic::new(
            origin,
            what,
            "correct the line; strings need quotes: listen = \"127.0.0.1:7717\"",
        ));
    }
    // After a syntax error, other values may be misread, so check them only in valid TOML.
    if errors.is_empty() {
        collect(document.get_ref(), &SettingKey::from_parts(&[]), &lines, set);
    }
}

/// Collects all values of a table.
fn collect(table: &DeTable<'_>, prefix: &SettingKey, lines: &LineIndex<'_>, set: &mut Vec<SettingEntry>) {
    for (name, value) in table {
        let key = prefix.child(name.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            collect(inner, &key, lines, set);
            continue;
        }
        let mut entry = SettingEntry::new(key, to_json(value.get_ref()), lines.origin(name.span().start));
        if let DeValue::Array(elements) = value.get_ref() {
            entry.element_lines = elements.iter().map(|element| lines.line(element.span().start)).collect();
        }
        set.push(entry);
    }
}

/// Converts a value to JSON. Dates become strings.
pub(super) fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(digits) => {
            let signed = i64::from_str_radix(digits.as_str(), digits.radix()).map(Value::from);
            let unsigned = || u64::from_str_radix(digits.as_str(), digits.radix()).map(Value::from);
            // Too large for any setting; as a string, validation rejects it with its location.
            signed.or_else(|_| unsigned()).unwrap_or_else(|_| Value::from(digits.as_str()))
        }
        DeValue::Float(digits) => {
            let number = digits.as_str().parse::<f64>().ok().and_then(Number::from_f64);
            number.map_or_else(|| Value::from(digits.as_str()), Value::Number)
        }
        DeValue::Boolean(yes) => Value::from(*yes),
        DeValue::Datetime(moment) => Value::from(moment.to_string()),
        DeValue::Array(elements) => elements.iter().map(|element| to_json(element.get_ref())).collect(),
        DeValue::Table(table) => {
            let pairs =
                table.iter().map(|(name, value)| (name.get_ref().to_string(), to_json(value.get_ref())));
            Value::Object(pairs.collect())
        }
    }
}

/// Start offsets of the lines of a text.
struct LineIndex<'a> {
    path: &'a Path,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn new(path: &'a Path, text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { path, starts: ends.collect() }
    }

    /// Returns the line of a byte offset, from 1.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at) + 1
    }

    fn origin(&self, at: usize) -> SettingOrigin {
        SettingOrigin::File { path: self.path.to_owned(), line: self.line(at) }
    }
}
