//! Reads `TOOLWAY_A__B` variables, which set `a.b`. An empty variable counts as unset.

use std::ffi::{OsStr, OsString};

use super::key::SettingKey;
use super::{SettingCatalog, SettingDiagnostic, SettingEntry, SettingOrigin, former_names, text, validation};
use crate::environment::SETTING_PREFIX;

/// Reads all variables.
pub(super) fn read(
    variables: &[(OsString, OsString)],
    known: &SettingCatalog,
    set: &mut Vec<SettingEntry>,
    wrong: &mut Vec<SettingDiagnostic>,
    ignored: &mut Vec<SettingDiagnostic>,
) {
    for (name, value) in variables.iter().filter(|(_, value)| !value.is_empty()) {
        let Some(name) = name.to_str() else { continue };
        let Some(rest) = name.strip_prefix(SETTING_PREFIX) else { continue };
        let origin = SettingOrigin::Variable(name.to_owned());
        let key = SettingKey::parse(&rest.to_ascii_lowercase().replace("__", "."));
        let present = former_names::present_key(&key);
        let unknown = match present {
            Some(_) => None,
            None => unknown_variable_problem(&key, rest, known, &origin),
        };
        if let Some(one) = unknown {
            // Some systems set variables for a service that is named toolway (TOOLWAY_SERVICE_HOST), so only reject
            // names that look like misspelled settings.
            let looks_meant = rest.contains("__") || one.hint.contains(validation::DID_YOU_MEAN);
            if looks_meant {
                wrong.push(one)
            } else {
                ignored.push(one)
            }
            continue;
        }
        match OsStr::to_str(value) {
            Some(value) => {
                let value = text::parse_value(present.as_ref().unwrap_or(&key), value);
                text::flatten(&key, value, &origin, set);
            }
            None => wrong.push(SettingDiagnostic::new(origin, "its value is not UTF-8", "use UTF-8 text")),
        }
    }
}

/// Returns the error for a variable that is not a setting.
fn unknown_variable_problem(
    key: &SettingKey,
    rest: &str,
    known: &SettingCatalog,
    origin: &SettingOrigin,
) -> Option<SettingDiagnostic> {
    let mut one = validation::unknown_key_problem(key, known, origin)?;
    one.problem = format!("unknown setting {key}");
    // The hint has the name from the settings file; show the variable instead.
    if let Some(meant) = one.hint.strip_prefix(validation::DID_YOU_MEAN) {
        let name = meant.trim_end_matches('?').to_ascii_uppercase().replace('.', "__");
        one.hint = format!("{}{SETTING_PREFIX}{name}?", validation::DID_YOU_MEAN);
    } else {
        one.hint = format!("{SETTING_PREFIX}{rest} has no effect; remove it if it is for this program");
    }
    Some(one)
}
