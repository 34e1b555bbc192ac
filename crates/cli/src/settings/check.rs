//! Whether settings are known, have the right form, and make sense together.

use std::collections::BTreeMap;

use serde_json::Value;
use toolway_gateway::settings::{SettingError, SettingInfo, Settings};
use tracing_subscriber::EnvFilter;

use super::key::Key;
use super::{Entry, Known, Origin, Wrong};

/// How a hint begins that names a setting which was probably meant.
pub(super) const MEANT: &str = "did you mean ";
/// How alike two names must be for one to be meant by the other.
const ALIKE: f64 = 0.8;

/// Checks one entry by itself.
pub(super) fn entry(mut entry: Entry, known: &Known) -> Result<Entry, Wrong> {
    // `tls = "off"` is short for `tls.mode`; kept under one name, a flag can win over a file's table.
    if entry.key == Key::of(&["tls"]) && entry.value.is_string() {
        entry.key = entry.key.child("mode");
    }
    let read = serde_json::from_value::<Settings>(entry.key.nest(entry.value.clone()));
    // Where they can be read with a single value in them, it is one setting's: they know all their names, and a
    // table is none.
    let is_single = matches!(entry.value, Value::Bool(_) | Value::Number(_) | Value::String(_));
    if is_single && read.is_ok() {
        return Ok(entry);
    }
    if let Some(wrong) = unknown(&entry.key, known, &entry.origin) {
        return Err(wrong);
    }
    match read {
        Ok(_) => Ok(entry),
        Err(error) => Err(badly_formed(&entry, &error.to_string(), known)),
    }
}

/// What to say where there is no such setting.
pub(super) fn unknown(key: &Key, known: &[SettingInfo], origin: &Origin) -> Option<Wrong> {
    let keys: Vec<(Key, &SettingInfo)> = known.iter().map(|info| (Key::parse(&info.key), info)).collect();
    // A table that need not be there has no default at all.
    let is_table = |info: &SettingInfo| info.default.is_object() || info.default.is_null();
    let exists = keys.iter().any(|(name, info)| name == key || (is_table(info) && key.is_below(name)));
    if exists {
        return None;
    }
    if keys.iter().any(|(name, _)| name.is_below(key)) {
        let inside: Vec<&str> =
            keys.iter().filter(|(name, _)| name.parent() == *key).map(|(name, _)| name.last()).collect();
        let hint = format!("write [{key}] and below it {}", inside.join(", "));
        return Some(Wrong::new(
            origin.clone(),
            format!("{key} is a table of settings, not one setting"),
            hint,
        ));
    }
    let hint = match closest(key, keys.iter().map(|(name, _)| name)) {
        Some(meant) => format!("{MEANT}{meant}?"),
        None => "remove it, or move it to the table where it belongs".to_owned(),
    };
    Some(Wrong::new(origin.clone(), format!("there is no setting {key}"), hint))
}

/// The name that is most like a key: by its spelling, or by standing in another table.
fn closest<'a>(key: &Key, names: impl Iterator<Item = &'a Key>) -> Option<&'a Key> {
    let whole = key.to_string();
    let score = |name: &Key| {
        if name.last() == key.last() {
            // Right, but in another table.
            0.97
        } else if name.parent() == key.parent() {
            strsim::jaro_winkler(name.last(), key.last())
        } else {
            // Tables have long names in common, which says little.
            0.95 * strsim::jaro_winkler(&whole, &name.to_string())
        }
    };
    let (best, score) = names.map(|name| (name, score(name))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (score >= ALIKE).then_some(best)
}

fn badly_formed(entry: &Entry, error: &str, known: &[SettingInfo]) -> Wrong {
    let info = known.iter().find(|info| Key::parse(&info.key) == entry.key);
    let what =
        if entry.key.is_secret() { "its value has the wrong form".to_owned() } else { in_words(error) };
    let default = info
        .filter(|info| !info.default.is_null())
        .map(|info| format!("; the default is {}", toml(&info.default)));
    let hint = match info {
        Some(info) => format!("{}{}", info.description.trim_end_matches('.'), default.unwrap_or_default()),
        None => String::new(),
    };
    Wrong::new(entry.origin.clone(), format!("{}: {what}", entry.key), hint)
}

/// The parser's message without its programmers' words.
fn in_words(error: &str) -> String {
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
pub(super) fn together(entries: &BTreeMap<Key, Entry>, wrong: &mut Vec<Wrong>) -> Option<Settings> {
    let mut merged = Value::Object(serde_json::Map::new());
    for entry in entries.values() {
        merge(&mut merged, entry.key.nest(entry.value.clone()));
    }
    match serde_json::from_value::<Settings>(merged) {
        Ok(settings) => {
            if let Err(errors) = settings.validate() {
                wrong.extend(errors.iter().map(|error| placed(error, entries)));
            }
            if let Err(error) = EnvFilter::try_new(&settings.log.level) {
                let error = SettingError {
                    key: "log.level".to_owned(),
                    problem: format!("{:?} is no level and no filter ({error})", settings.log.level),
                    hint:
                        "write error, warn, info, debug or trace, or a filter like info,toolway_gateway=debug"
                            .to_owned(),
                };
                wrong.push(placed(&error, entries));
            }
            Some(settings)
        }
        Err(error) => {
            wrong.push(Wrong::new(Origin::Default, in_words(&error.to_string()), ""));
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
pub(super) fn placed(error: &SettingError, entries: &BTreeMap<Key, Entry>) -> Wrong {
    let (name, element) = match error.key.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((name, number)) => (name, number.parse::<usize>().ok()),
        None => (error.key.as_str(), None),
    };
    let entry = entries.values().find(|entry| entry.key.to_string() == name);
    let origin = match (entry, element) {
        (Some(entry), Some(element)) => match (&entry.origin, entry.element_lines.get(element)) {
            (Origin::File { path, .. }, Some(line)) => Origin::File { path: path.clone(), line: *line },
            (origin, _) => origin.clone(),
        },
        (Some(entry), None) => entry.origin.clone(),
        // Missing beside others of its table: those show where it should be.
        (None, _) => entries
            .values()
            .find(|entry| entry.key.parts().len() > 1 && entry.key.parent() == Key::parse(name).parent())
            .map_or(Origin::Default, |entry| entry.origin.clone()),
    };
    Wrong::new(origin, format!("{}: {}", error.key, error.problem), error.hint.clone())
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
