//! Descriptions of all settings, generated from the doc comments of their fields.

use serde_json::Value;

use super::Settings;

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingInfo {
    /// Full name of the setting, for example `limits.frame_bytes`.
    pub key: String,
    /// Description of the setting.
    pub description: String,
    /// Default of the setting.
    pub default: Value,
}

/// Returns the JSON Schema of the settings file.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(Settings).to_value()
}

/// Returns all settings in the order of their definition.
#[must_use]
pub fn describe() -> Vec<SettingInfo> {
    let schema = schema();
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut found = Vec::new();
    collect(&schema, &schema, &defaults, "", &mut found);
    found
}

fn collect(root: &Value, table: &Value, defaults: &Value, prefix: &str, found: &mut Vec<SettingInfo>) {
    let Some(properties) = table.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let default = defaults.get(name).cloned().unwrap_or_default();
        let target = resolve(root, property);
        if target.get("properties").is_some() {
            collect(root, target, &default, &key, found);
            continue;
        }
        let words = [property, target].into_iter().find_map(|it| it.get("description")?.as_str());
        found.push(SettingInfo { key, description: one_line(words.unwrap_or_default()), default });
    }
}

/// Returns the schema that a property refers to, or the property itself.
fn resolve<'a>(root: &'a Value, property: &'a Value) -> &'a Value {
    property
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .unwrap_or(property)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
