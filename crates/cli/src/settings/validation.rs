//! Whether settings are known, have the right form, and make sense together.

use std::collections::BTreeMap;

use serde_json::Value;
use toolway_gateway::settings::{SettingError, SettingInfo, Settings};
use tracing_subscriber::EnvFilter;

use super::key::SettingKey;
use super::{SettingCatalog, SettingDiagnostic, SettingEntry, SettingOrigin};

/// How a hint begins that names a setting which was probably meant.
pub(super) const DID_YOU_MEAN: &str = "did you mean ";
/// How alike two names must be for one to be meant by the other.
const MIN_SIMILARITY: f64 = 0.8;

/// Checks one entry by itself.
pub(super) fn check_entry(
    mut entry: SettingEntry,
    known: &SettingCatalog,
) -> Result<SettingEntry, SettingDiagnostic> {
    // `tls = "off"` is short for `tls.mode`; kept under one name, a flag can win over a file's table.
    if entry.key == SettingKey::from_parts(&["tls"]) && entry.value.is_string() {
        entry.key = entry.key.child("mode");
    }
    let read = serde_json::from_value::<Settings>(entry.key.nest(entry.value.clone()));
    // Where they can be read with a single value in them, it is one setting's: they know all their names, and a
    // table is none.
    let is_single = matches!(entry.value, Value::Bool(_) | Value::Number(_) | Value::String(_));
    if is_single && read.is_ok() {
        return Ok(entry);
    }
    if let Some(wrong) = unknown_key_problem(&entry.key, known, &entry.origin) {
        return Err(wrong);
    }
    match read {
        Ok(_) => Ok(entry),
        Err(error) => Err(malformed_problem(&entry, &error.to_string(), known)),
    }
}

/// What to say where there is no such setting.
pub(super) fn unknown_key_problem(
    key: &SettingKey,
    known: &[SettingInfo],
    origin: &SettingOrigin,
) -> Option<SettingDiagnostic> {
    let keys: Vec<(SettingKey, &SettingInfo)> =
        known.iter().map(|info| (SettingKey::parse(&info.key), info)).collect();
    // A table that need not be there has no default at all.
    let is_table = |info: &SettingInfo| info.default.is_object() || info.default.is_null();
    let exists = keys.iter().any(|(name, info)| name == key || (is_table(info) && key.is_below(name)));
    if exists {
        return None;
    }
    if keys.iter().any(|(name, _)| name.is_below(key)) {
        let inside: Vec<&str> =
            keys.iter().filter(|(name, _)| name.parent() == *key).map(|(name, _)| name.last_part()).collect();
        let hint = format!("write [{key}] and below it {}", inside.join(", "));
        return Some(SettingDiagnostic::new(
            origin.clone(),
            format!("{key} is a table of settings, not one setting"),
            hint,
        ));
    }
    let hint = match closest_name(key, keys.iter().map(|(name, _)| name)) {
        Some(meant) => format!("{DID_YOU_MEAN}{meant}?"),
        None => "remove it, or move it to the table where it belongs".to_owned(),
    };
    Some(SettingDiagnostic::new(origin.clone(), format!("there is no setting {key}"), hint))
}

/// The name that is most like a key: by its spelling, or by standing in another table.
fn closest_name<'a>(key: &SettingKey, names: impl Iterator<Item = &'a SettingKey>) -> Option<&'a SettingKey> {
    let whole = key.to_string();
    let score = |name: &SettingKey| {
        if name.last_part() == key.last_part() {
            // Right, but in another table.
            0.97
        } else if name.parent() == key.parent() {
            strsim::jaro_winkler(name.last_part(), key.last_part())
        } else {
            // Tables have long names in common, which says little.
            0.95 * strsim::jaro_winkler(&whole, &name.to_string())
        }
    };
    let (best, score) = names.map(|name| (name, score(name))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (score >= MIN_SIMILARITY).then_some(best)
}

fn malformed_problem(entry: &SettingEntry, error: &str, known: &[SettingInfo]) -> SettingDiagnostic {
    let info = known.iter().find(|info| SettingKey::parse(&info.key) == entry.key);
    let what =
        if entry.key.is_secret() { "its value has the wrong form".to_owned() } else { describe_error(error) };
    let default = info
        .filter(|info| !info.default.is_null())
        .map(|info| format!("; the default is {}", toml(&info.default)));
    let hint = match info {
        Some(info) => format!("{}{}", info.description.trim_end_matches('.'), default.unwrap_or_default()),
        None => String::new(),
    };
    SettingDiagnostic::new(entry.origin.clone(), format!("{}: {what}", entry.key), hint)
}

/// The parser's message without its programmers' words.
fn describe_error(error: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("invalid type: ", "is "),
        ("invalid value: ", "is "),
        ("expected usize", "not a whole number from 0 on"),
        ("expected u64", "not a whole number from 0 on"),
        ("expected u32", "not a whole number from 0 on"),
        ("expected f64", "not a number"),
        ("expected a boolean", "not true or false"),
        ("expected a string", "not text in quotes"),
        ("expected path string", "not a path in quotes"),
        ("expected a sequence", "not a list"),
        ("expected a map", "not a table"),
    ];
    WORDS.iter().fold(error.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Builds the settings from all entries and checks them together. What is wrong is added.
pub(super) fn build_settings(
    entries: &BTreeMap<SettingKey, SettingEntry>,
    wrong: &mut Vec<SettingDiagnostic>,
) -> Option<Settings> {
    let mut merged = Value::Object(serde_json::Map::new());
    for entry in entries.values() {
        merge(&mut merged, entry.key.nest(entry.value.clone()));
    }
    match serde_json::from_value::<Settings>(merged) {
        Ok(settings) => {
            if let Err(errors) = settings.validate() {
                wrong.extend(errors.iter().map(|error| locate_error(error, entries)));
            }
            if let Err(error) = EnvFilter::try_new(&settings.log.level) {
                let error = SettingError {
                    key: "log.level".to_owned(),
                    problem: format!("{:?} is no level and no filter ({error})", settings.log.level),
                    hint:
                        "write error, warn, info, debug or trace, or a filter like info,toolway_gateway=debug"
                            .to_owned(),
                };
                wrong.push(locate_error(&error, entries));
            }
            Some(settings)
        }
        Err(error) => {
            wrong.push(SettingDiagnostic::new(
                SettingOrigin::Default,
                describe_error(&error.to_string()),
                "",
            ));
            None
        }
    }
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// An error about a setting, with the place of the setting.
pub(super) fn locate_error(
    error: &SettingError,
    entries: &BTreeMap<SettingKey, SettingEntry>,
) -> SettingDiagnostic {
    let (name, element) = match error.key.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((name, number)) => (name, number.parse::<usize>().ok()),
        None => (error.key.as_str(), None),
    };
    let entry = entries.values().find(|entry| entry.key.to_string() == name);
    let origin = match (entry, element) {
        (Some(entry), Some(element)) => match (&entry.origin, entry.element_lines.get(element)) {
            (SettingOrigin::File { path, .. }, Some(line)) => {
                SettingOrigin::File { path: path.clone(), line: *line }
            }
            (origin, _) => origin.clone(),
        },
        (Some(entry), None) => entry.origin.clone(),
        // Missing beside others of its table: those show where it should be.
        (None, _) => entries
            .values()
            .find(|entry| {
                entry.key.parts().len() > 1 && entry.key.parent() == SettingKey::parse(name).parent()
            })
            .map_or(SettingOrigin::Default, |entry| entry.origin.clone()),
    };
    SettingDiagnostic::new(origin, format!("{}: {}", error.key, error.problem), error.hint.clone())
}

/// A value as it is written in the file.
pub(crate) fn toml(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::Array(elements) => {
            format!("[{}]", elements.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        other => other.to_string(),
    }
}
