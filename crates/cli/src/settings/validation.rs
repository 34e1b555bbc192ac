//! Validates settings: names, types, and combinations.

use std::collections::BTreeMap;

use serde_json::Value;
use toolway_gateway::settings::{SettingError, SettingInfo, Settings};
use tracing_subscriber::EnvFilter;

use super::key::SettingKey;
use super::{SettingCatalog, SettingDiagnostic, SettingEntry, SettingOrigin};

/// Start of a hint that suggests another name.
pub(super) const DID_YOU_MEAN: &str = "did you mean ";
/// Minimum similarity of two names for a suggestion.
const MIN_SIMILARITY: f64 = 0.8;

/// Checks a single entry.
pub(super) fn check_entry(
    mut entry: SettingEntry,
    known: &SettingCatalog,
) -> Result<SettingEntry, SettingDiagnostic> {
    // `tls = "off"` is short for `tls.mode`. With one name, a flag can override a table in the file.
    if entry.key == SettingKey::from_parts(&["tls"]) && entry.value.is_string() {
        entry.key = entry.key.child("mode");
    }
    let read = serde_json::from_value::<Settings>(entry.key.nest(entry.value.clone()));
    // If the settings accept a single scalar here, the key is a known setting: they reject unknown names, and a
    // table is not a scalar.
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

/// Returns the error for an unknown setting; `None` if the setting exists.
pub(super) fn unknown_key_problem(
    key: &SettingKey,
    known: &[SettingInfo],
    origin: &SettingOrigin,
) -> Option<SettingDiagnostic> {
    let keys: Vec<(SettingKey, &SettingInfo)> =
        known.iter().map(|info| (SettingKey::parse(&info.key), info)).collect();
    // An optional table has no default.
    let is_table = |info: &SettingInfo| info.default.is_object() || info.default.is_null();
    let exists = keys.iter().any(|(name, info)| name == key || (is_table(info) && key.is_below(name)));
    if exists {
        return None;
    }
    if keys.iter().any(|(name, _)| name.is_below(key)) {
        let inside: Vec<&str> =
            keys.iter().filter(|(name, _)| name.parent() == *key).map(|(name, _)| name.last_part()).collect();
        let hint = format!("start a table with [{key}] and set {} in it", inside.join(", "));
        return Some(SettingDiagnostic::new(
            origin.clone(),
            format!("{key} is a table of settings, not one setting"),
            hint,
        ));
    }
    let hint = match closest_name(key, keys.iter().map(|(name, _)| name)) {
        Some(meant) => format!("{DID_YOU_MEAN}{meant}?"),
        None => "remove it, or move it to another table".to_owned(),
    };
    Some(SettingDiagnostic::new(origin.clone(), format!("unknown setting {key}"), hint))
}

/// Returns the most similar name: by spelling, or the same name in another table.
fn closest_name<'a>(key: &SettingKey, names: impl Iterator<Item = &'a SettingKey>) -> Option<&'a SettingKey> {
    let whole = key.to_string();
    let score = |name: &SettingKey| {
        if name.last_part() == key.last_part() {
            // The right name, but in another table.
            0.97
        } else if name.parent() == key.parent() {
            strsim::jaro_winkler(name.last_part(), key.last_part())
        } else {
            // Long table names in common mean little.
            0.95 * strsim::jaro_winkler(&whole, &name.to_string())
        }
    };
    let (best, score) = names.map(|name| (name, score(name))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (score >= MIN_SIMILARITY).then_some(best)
}

fn malformed_problem(entry: &SettingEntry, error: &str, known: &[SettingInfo]) -> SettingDiagnostic {
    let info = known.iter().find(|info| SettingKey::parse(&info.key) == entry.key);
    let what =
        if entry.key.is_secret() { "its value has the wrong type".to_owned() } else { describe_error(error) };
    let default = info
        .filter(|info| !info.default.is_null())
        .map(|info| format!("; the default is {}", toml(&info.default)));
    let hint = match info {
        Some(info) => format!("{}{}", info.description.trim_end_matches('.'), default.unwrap_or_default()),
        None => String::new(),
    };
    SettingDiagnostic::new(entry.origin.clone(), format!("{}: {what}", entry.key), hint)
}

/// Rewrites serde's message for users.
fn describe_error(error: &str) -> String {
    const WORDS: &[(&str, &str)] = &[
        ("invalid type: ", "is "),
        ("invalid value: ", "is "),
        ("expected usize", "not a whole number of at least 0"),
        ("expected u64", "not a whole number of at least 0"),
        ("expected u32", "not a whole number of at least 0"),
        ("expected f64", "not a number"),
        ("expected a boolean", "not true or false"),
        ("expected a string", "not text in quotes"),
        ("expected path string", "not a path in quotes"),
        ("expected a sequence", "not a list"),
        ("expected a map", "not a table"),
    ];
    WORDS.iter().fold(error.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

/// Builds the settings from all entries and validates them together. Adds all errors.
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
                    problem: format!("{:?} is not a log level or filter ({error})", settings.log.level),
                    hint:
                        "use error, warn, info, debug or trace, or a filter like info,toolway_gateway=debug"
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

/// Adds the location of the setting to an error.
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
        // The setting is missing: show the location of another one in the same table.
        (None, _) => entries
            .values()
            .find(|entry| {
                entry.key.parts().len() > 1 && entry.key.parent() == SettingKey::parse(name).parent()
            })
            .map_or(SettingOrigin::Default, |entry| entry.origin.clone()),
    };
    SettingDiagnostic::new(origin, format!("{}: {}", error.key, error.problem), error.hint.clone())
}

/// Formats a value as TOML.
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
