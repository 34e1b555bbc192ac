//! What the log and the doctor say of former names in a data folder.

use std::fs;
use std::path::Path;

use super::former_names::{RENAMED_HOOK_FIELDS, RENAMED_SETTINGS};

/// Checks that the log has the new name of every setting. For keys in the owner's other files, which the gateway does
/// not take by their former names, the log and the doctor must have it.
#[track_caller]
pub(crate) fn check_former_names_are_told(log: &str, doctor: &str, folder: &Path) {
    let line_of = |file: &str, text: &str| {
        let lines = fs::read_to_string(folder.join(file)).unwrap();
        1 + lines.lines().position(|line| line.starts_with(text)).unwrap()
    };
    let place = |file: &str, line: usize| format!("{}:{line}", folder.join(file).display());
    let settings = fs::read_to_string(folder.join("toolway.toml")).unwrap();
    for (former, present) in RENAMED_SETTINGS {
        let (table, key) = former.split_once('.').unwrap();
        let (mut current, mut found) = ("", 0);
        for (at, line) in settings.lines().enumerate() {
            match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                Some(name) => current = name,
                None if current == table && line.starts_with(&format!("{key} =")) => found = at + 1,
                None => {}
            }
        }
        let warning = format!(
            "WARN {}: {former} was renamed to {present} hint=\"use {present}; the former name still works\"",
            place("toolway.toml", found)
        );
        assert!(log.contains(&warning), "{warning:?} is not in\n{log}");
    }
    for (at, line, former, present) in RENAMED_HOOK_FIELDS {
        let warning = format!(
            "WARN {}:{line}: hooks[{at}].{former} was renamed to hooks[{at}].{present} hint=\"use {present}; {former} still works\"",
            folder.join("toolway.toml").display()
        );
        assert!(log.contains(&warning), "{warning:?} is not in\n{log}");
    }
    let value = format!(
        "WARN {}: the value \"each\" of calls.durability was renamed to \"per_call\" hint=\"use \\\"per_call\\\"; \\\"each\\\" still works\"",
        place("toolway.toml", line_of("toolway.toml", "durability"))
    );
    assert!(log.contains(&value), "{value:?} is not in\n{log}");
    for (file, former, present) in [
        ("models.toml", "context_tokens", "context_window"),
        ("prices.toml", "context_tokens", "context_window"),
        ("tools/weather.toml", "result", "result_pointer"),
        ("own-files/listed.toml", "env", "pass_env"),
        ("own-files/listed.toml", "private", "allow_private_network"),
    ] {
        let line = place(file, line_of(file, former));
        let renamed = format!("unknown field `{former}`: it was renamed to `{present}`");
        for (report, level) in [(log, " ERROR "), (doctor, "error ")] {
            let is_told = |it: &str| it.contains(level) && it.contains(&line) && it.contains(&renamed);
            assert!(report.lines().any(is_told), "no {level:?} with {line} and {renamed:?} in\n{report}");
        }
    }
}
