//! Parses values from variables and flags: a plain string if the setting takes one, else a TOML value (`30`, `true`,
//! `["a", "b"]`), else a comma-separated list.

use serde_json::Value;
use toml::de::{DeTable, DeValue};
use toolway_gateway::settings::Settings;

use super::key::SettingKey;
use super::{FlagSetting, SettingDiagnostic, SettingEntry, SettingOrigin, file, former_names};

/// Parses a text for a setting. If nothing fits, returns the value with the best error message.
pub(super) fn parse_value(key: &SettingKey, text: &str) -> Value {
    let word = Value::from(text);
    let written = DeValue::parse(text.trim()).ok().map(|value| file::to_json(value.get_ref()));
    let list: Value = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let fits = |value: &Value| serde_json::from_value::<Settings>(key.nest(value.clone())).is_ok();
    let otherwise = written.clone().unwrap_or_else(|| word.clone());
    [Some(word), written, Some(list)].into_iter().flatten().find(fits).unwrap_or(otherwise)
}

/// Adds the value of a flag.
pub(super) fn read_flag(flag: &FlagSetting, set: &mut Vec<SettingEntry>, wrong: &mut Vec<SettingDiagnostic>) {
    let origin = SettingOrigin::Flag(flag.flag.clone());
    let Some(key) = parse_key(&flag.key) else {
        let hint = "use --set KEY=VALUE, for example --set limits.connections=500";
        return wrong.push(SettingDiagnostic::new(
            origin,
            format!("invalid setting name {:?}", flag.key),
            hint,
        ));
    };
    // The new name of the setting decides about the type.
    let present = former_names::present_key(&key);
    let value = parse_value(present.as_ref().unwrap_or(&key), &flag.text);
    flatten(&key, value, &origin, set);
}

/// Adds a value; a table is split into its fields.
pub(super) fn flatten(key: &SettingKey, value: Value, origin: &SettingOrigin, set: &mut Vec<SettingEntry>) {
    match value {
        Value::Object(parts) => {
            for (name, part) in parts {
                flatten(&key.child(&name), part, origin, set);
            }
        }
        value => set.push(SettingEntry::new(key.clone(), value, origin.clone())),
    }
}

/// Parses a key with the syntax of the settings file, including quotes.
fn parse_key(text: &str) -> Option<SettingKey> {
    let document = format!("{text} = 0");
    let mut table = DeTable::parse(&document).ok()?.into_inner();
    let mut key = SettingKey::from_parts(&[]);
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
