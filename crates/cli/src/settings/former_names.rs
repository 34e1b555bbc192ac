//! Settings that had another name in version 0.1. The former names still load, with a warning that shows the new one.

use serde_json::Value;

use super::key::SettingKey;
use super::{SettingDiagnostic, SettingEntry, SettingOrigin};
use crate::environment::SETTING_PREFIX;

/// Former names, each with the present one.
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
/// Former names of the fields of a hook.
pub(crate) const FORMER_HOOK_FIELDS: &[(&str, &str)] =
    &[("on_fault", "on_failure"), ("env", "pass_env"), ("env_set", "set_env"), ("working_dir", "cwd")];
/// A setting, a former value of it, and the present one.
pub(crate) const FORMER_VALUES: &[(&str, &str, &str)] = &[("calls.durability", "each", "per_call")];

/// The present name of a setting that is given by its former one.
pub(super) fn present_key(key: &SettingKey) -> Option<SettingKey> {
    let name = key.to_string();
    FORMER_NAMES.iter().find(|(former, _)| *former == name).map(|(_, present)| SettingKey::parse(present))
}

/// Gives entries with a former name the present one, with a warning for each. Two names of one setting are an error,
/// whatever the places: nobody could tell which one is meant.
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
        let problem = format!("the value {former:?} of {key} is now called {present:?}");
        warnings.push(SettingDiagnostic::new(
            entry.origin.clone(),
            problem,
            format!("write {present:?}; {former:?} still works"),
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
                format!("{} is now called {}", names.0, names.1),
                format!("write {present}; {former} still works"),
            ));
            fields.insert((*present).to_owned(), value);
        }
    }
}

/// The warning about a former name.
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
        format!("{former} is now called {present}"),
        format!("write {written}; the former name still works"),
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
        format!("{former} and {present}{place} are two names of one setting, and both are set"),
        format!("remove {former}; its name is now {present}"),
    )
}
