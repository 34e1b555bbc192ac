//! Values given as text, in variables and flags: a word as it is where the setting takes text, else a value
//! as in the file (`30`, `true`, `["a", "b"]`), else a list with commas.

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use toolway_gateway::settings::Settings;

use super::key::Key;
use super::{Entry, FlagSetting, Origin, Wrong, file};

/// What a text means for a setting. Where it means nothing, whatever gives the best refusal.
pub(super) fn value(key: &Key, text: &str) -> Value {
    let word = Value::from(text);
    let written = DeValue::parse(text.trim()).ok().map(|value| file::to_json(value.get_ref()));
    let list: Value = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let fits = |value: &Value| serde_json::from_value::<Settings>(key.nest(value.clone())).is_ok();
    let otherwise = written.clone().unwrap_or_else(|| word.clone());
    [Some(word), written, Some(list)].into_iter().flatten().find(fits).unwrap_or(otherwise)
}

/// Adds what a flag sets.
pub(super) fn read_flag(flag: &FlagSetting, set: &mut Vec<Entry>, wrong: &mut Vec<Wrong>) {
    let origin = Origin::Flag(flag.flag.clone());
    let Some(key) = key_of(&flag.key) else {
        let hint = "write --set KEY=VALUE, as --set limits.connections=500";
        return wrong.push(Wrong::new(origin, format!("{:?} is not the name of a setting", flag.key), hint));
    };
    spread(&key, value(&key, &flag.text), &origin, set);
}

/// Adds a value; a table's parts each by itself.
pub(super) fn spread(key: &Key, value: Value, origin: &Origin, set: &mut Vec<Entry>) {
    match value {
        Value::Object(parts) => {
            for (name, part) in parts {
                spread(&key.child(&name), part, origin, set);
            }
        }
        value => set.push(Entry::new(key.clone(), value, origin.clone())),
    }
}

/// A key as it is written in the file, quoted parts included.
fn key_of(text: &str) -> Option<Key> {
    let document = format!("{text} = 0");
    let mut table = DeTable::parse(&document).ok()?.into_inner();
    let mut key = Key::of(&[]);
    loop {
        let mut pairs = table.into_iter();
        let (name, value) = pairs.next()?;
        if pairs.next().is_some() {
            return None;
        }
        key = key.child(name.get_ref());
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            _ => return Some(key),
        }
    }
}
