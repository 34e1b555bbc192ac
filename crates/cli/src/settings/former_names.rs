//! Setting names of version 0.1. They still load, with a warning that shows the new name.

use serde_json::Value;

use super::key::SettingKey;
use super::{SettingDiagnostic, SettingEntry, SettingOrigin};
use crate::environment::SETTING_PREFIX;

/// Former names and their new names.
pub(crate) const FORMER_NAMES: &[(&str, &str)] = &[
    ("timeouts.cap_s", "timeouts.max_tool_s"),
    ("timeouts.person_s", "timeouts.approval_s"),
    ("chat.titles", "chat.generate_titles"),
    ("chat.turns", "chat.max_concurrent_turns"),
    ("chat.context_warn_at", "chat.context_threshold"),
    ("chat.context_reserve", "chat.context_reserve_tokens"),
    ("mcp.list_s", "mcp.list_timeout_s"),
    ("mcp.sessions", "mcp.max_sessions"),
    ("limits.parallel_calls", "limits.parallel_calls_per_principal"),
    ("limits.model_text_bytes", "limits.model_result_bytes"),
    ("limits.pair_tries_per_minute", "limits.pairing_attempts_per_minute"),
];
/// Former names of the fields of a hook, and their new names.
pub(crate) const FORMER_HOOK_FIELDS: &[(&str, &str)] =
    &[("on_fault", "on_failure"), ("env", "pass_env"), ("env_set", "set_env"), ("working_dir", "cwd")];
/// Settings with a former value and its new value.
pub(crate) const FORMER_VALUES: &[(&str, &str, &str)] = &[("calls.durability", "each", "per_call")];

/// Returns the new name of a setting with a former name.
pub(super) fn present_key(key: &SettingKey) -> Option<SettingKey> {
    let name = key.to_string();
    FORMER_NAMES.iter().find(|(former, _)| *former == name).map(|(_, present)| SettingKey::parse(present))
}

/// Renames entries with a former name and adds a warning for each. It is an error if both names are set in any sources,
/// because the intended value is ambiguous.
pub(super) fn rename(
    entries: &mut [SettingEntry],
    warnings: &mut Vec<SettingDiagnostic>,
    wrong: &mut Vec<SettingDiagnostic>,
) {
    let present: Vec<(SettingKey, SettingOrigin)> =
        entries.iter().map(|entry| (entry.key.clone(), entry.origin.clone())).collect();
    for entry in entries {
        if let Some(key) = present_key(&entry.key) {
            match present.iter().find(|(other, _)| *other == key) {
                Some((_, origin)) => wrong.push(both_names(&entry.origin, &entry.key, &key, Some(origin))),
                None => warnings.push(renamed(&entry.origin, &entry.key, &key)),
            }
            entry.key = key;
        }
        rename_value(entry, warnings);
        rename_hook_fields(entry, warnings, wrong);
    }
}

fn rename_value(entry: &mut SettingEntry, warnings: &mut Vec<SettingDiagnostic>) {
    let name = entry.key.to_string();
    let former = FORMER_VALUES.iter().find(|(key, former, _)| *key == name && entry.value == *former);
    if let Some((key, former, present)) = former {
        entry.value = Value::from(*present);
        let problem = format!("the value {former:?} of {key} was renamed to {present:?}");
        warnings.push(SettingDiagnostic::new(
            entry.origin.clone(),
            problem,
            format!("use {present:?}; {former:?} still works"),
        ));
    }
}

fn rename_hook_fields(
    entry: &mut SettingEntry,
    warnings: &mut Vec<SettingDiagnostic>,
    wrong: &mut Vec<SettingDiagnostic>,
) {
    if entry.key != SettingKey::from_parts(&["hooks"]) {
        return;
    }
    let Value::Array(hooks) = &mut entry.value else { return };
    for (at, hook) in hooks.iter_mut().enumerate() {
        let Value::Object(fields) = hook else { continue };
        let origin = match (&entry.origin, entry.element_lines.get(at)) {
            (SettingOrigin::File { path, .. }, Some(line)) => {
                SettingOrigin::File { path: path.clone(), line: *line }
            }
            (origin, _) => origin.clone(),
        };
        for (former, present) in FORMER_HOOK_FIELDS {
            let Some(value) = fields.remove(*former) else { continue };
            let names = (format!("hooks[{at}].{former}"), format!("hooks[{at}].{present}"));
            if fields.contains_key(*present) {
                wrong.push(both_names(&origin, &names.0, &names.1, None));
                continue;
            }
            warnings.push(SettingDiagnostic::new(
                origin.clone(),
                format!("{} was renamed to {}", names.0, names.1),
                format!("use {present}; {former} still works"),
            ));
            fields.insert((*present).to_owned(), value);
        }
    }
}

/// Creates the warning about a former name.
pub(crate) fn renamed(
    origin: &SettingOrigin,
    former: &SettingKey,
    present: &SettingKey,
) -> SettingDiagnostic {
    let written = match origin {
        SettingOrigin::Variable(_) => {
            format!("{SETTING_PREFIX}{}", present.to_string().to_ascii_uppercase().replace('.', "__"))
        }
        _ => present.to_string(),
    };
    SettingDiagnostic::new(
        origin.clone(),
        format!("{former} was renamed to {present}"),
        format!("use {written}; the former name still works"),
    )
}

fn both_names(
    origin: &SettingOrigin,
    former: &dyn std::fmt::Display,
    present: &dyn std::fmt::Display,
    other: Option<&SettingOrigin>,
) -> SettingDiagnostic {
    let place = other.map(|other| format!(" ({other})")).unwrap_or_default();
    SettingDiagnostic::new(
        origin.clone(),
        format!("{former} and {present}{place} are the same setting, and both are set"),
        format!("remove {former}; its new name is {present}"),
    )
}
