//! Loads the gateway's settings from defaults, `toolway.toml`, `TOOLWAY_A__B` variables and flags. Later sources
//! override earlier ones. Every value keeps its source, and all errors are reported together with their locations.

mod file;
pub(crate) mod former_names;
pub(crate) mod key;
mod text;
pub(crate) mod validation;
mod variables;

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolway_gateway::SettingsOrigin;
use toolway_gateway::settings::{SettingInfo, Settings, describe};

use crate::error::{CliError, CliProblem};
use key::SettingKey;

/// Source of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The default.
    Default,
    /// A line of a file, from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// A variable.
    Variable(String),
    /// A flag.
    Flag(String),
}

impl SettingOrigin {
    /// Returns the position for sorting: file by line, then variables, then flags.
    fn sort_key(&self) -> (u8, usize) {
        match self {
            Self::Default => (0, 0),
            Self::File { line, .. } => (0, *line),
            Self::Variable(_) => (1, 0),
            Self::Flag(_) => (2, 0),
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A value from a source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettingEntry {
    pub(crate) key: SettingKey,
    pub(crate) value: Value,
    pub(crate) origin: SettingOrigin,
    /// Lines of the elements, if the value is a list in a file.
    pub(crate) element_lines: Vec<usize>,
}

impl SettingEntry {
    fn new(key: SettingKey, value: Value, origin: SettingOrigin) -> Self {
        Self { key, value, origin, element_lines: Vec::new() }
    }
}

/// A flag that sets a value.
#[derive(Debug, Clone)]
pub(crate) struct FlagSetting {
    /// The flag as typed, for example `--listen`.
    pub(crate) flag: String,
    /// Key of the setting.
    pub(crate) key: String,
    /// Value as text.
    pub(crate) text: String,
}

/// All sources of settings.
#[derive(Debug, Clone)]
pub(crate) struct SettingSources {
    /// Settings file.
    pub(crate) file: PathBuf,
    /// True if the user selected the file, so that it must exist.
    pub(crate) is_file_required: bool,
    /// Variables with the prefix of this program.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Flags.
    pub(crate) flags: Vec<FlagSetting>,
}

/// A setting with its effective value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EffectiveSetting {
    /// Full name.
    pub(crate) key: SettingKey,
    /// Description.
    pub(crate) description: String,
    /// Value; secrets are redacted.
    pub(crate) value: Value,
    /// Source of the value.
    pub(crate) origin: SettingOrigin,
}

/// Valid settings with their sources.
#[derive(Debug, Clone)]
pub(crate) struct LoadedSettings {
    /// The values.
    pub(crate) settings: Settings,
    /// The settings file, if it exists.
    pub(crate) file: Option<PathBuf>,
    /// Warnings about valid settings.
    pub(crate) warnings: Vec<SettingDiagnostic>,
    /// Variables that look like settings but are not.
    pub(crate) ignored: Vec<SettingDiagnostic>,
    /// Settings that use a former name.
    pub(crate) renamed: Vec<SettingDiagnostic>,
    entries: BTreeMap<SettingKey, SettingEntry>,
}

/// An error or a warning about a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingDiagnostic {
    /// Source of the setting.
    pub(crate) origin: SettingOrigin,
    /// Problem.
    pub(crate) problem: String,
    /// Hint.
    pub(crate) hint: String,
}

impl SettingDiagnostic {
    fn new(origin: SettingOrigin, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { origin, problem: what.into(), hint: hint.into() }
    }

    /// Returns location and problem in one line.
    pub(crate) fn message(&self) -> String {
        match self.origin {
            SettingOrigin::Default => self.problem.clone(),
            _ => format!("{}: {}", self.origin, self.problem),
        }
    }
}

/// Combines all errors.
pub(crate) fn settings_error(wrong: &[SettingDiagnostic]) -> CliError {
    let problem = |it: &SettingDiagnostic| CliProblem {
        message: it.message(),
        hint: Some(it.hint.clone()).filter(|hint| !hint.is_empty()),
    };
    let what = if wrong.len() == 1 {
        "a setting is invalid".to_owned()
    } else {
        format!("{} settings are invalid", wrong.len())
    };
    CliError::new(what)
        .with_code("settings")
        .with_problems(wrong.iter().map(problem).collect())
        .with_hint("list the settings with `toolway config show`; check them with `toolway config check`")
}

/// Every setting with its description, built lazily from the schema, because only errors need it.
type SettingCatalog = LazyCell<Vec<SettingInfo>>;

/// Loads all sources and merges them.
///
/// # Errors
/// Returns all errors.
pub(crate) fn load(sources: &SettingSources) -> Result<LoadedSettings, Vec<SettingDiagnostic>> {
    let known = SettingCatalog::new(describe);
    let mut wrong = Vec::new();
    let mut ignored = Vec::new();
    let mut set = Vec::new();
    let file = file::read(&sources.file, sources.is_file_required, &mut set, &mut wrong);
    variables::read(&sources.variables, &known, &mut set, &mut wrong, &mut ignored);
    for flag in &sources.flags {
        text::read_flag(flag, &mut set, &mut wrong);
    }
    let mut renamed = Vec::new();
    former_names::rename(&mut set, &mut renamed, &mut wrong);
    let mut entries = BTreeMap::new();
    for entry in set {
        match validation::check_entry(entry, &known) {
            Ok(entry) => drop(entries.insert(entry.key.clone(), entry)),
            Err(one) => wrong.push(one),
        }
    }
    resolve_paths(&mut entries);
    let settings = validation::build_settings(&entries, &mut wrong);
    match settings {
        Some(settings) if wrong.is_empty() => {
            let warnings =
                settings.warnings().iter().map(|it| validation::locate_error(it, &entries)).collect();
            Ok(LoadedSettings { settings, file, warnings, ignored, renamed, entries })
        }
        _ => {
            wrong.sort_by_key(|it| it.origin.sort_key());
            Err(wrong)
        }
    }
}

/// Makes paths absolute. Paths in a file are relative to that file's folder, others to the working directory.
fn resolve_paths(entries: &mut BTreeMap<SettingKey, SettingEntry>) {
    for SettingEntry { key, value, origin, .. } in entries.values_mut() {
        let folder = match origin {
            SettingOrigin::File { path, .. } => path.parent().map(Path::to_owned),
            _ => None,
        };
        for text in key.paths_in(value) {
            let meant = folder.as_ref().map_or_else(|| PathBuf::from(&*text), |folder| folder.join(&*text));
            *text = std::path::absolute(&meant).unwrap_or(meant).display().to_string();
        }
    }
}

impl LoadedSettings {
    /// Returns all settings with their effective values, in documented order.
    pub(crate) fn effective_settings(&self) -> Vec<EffectiveSetting> {
        let mut all = Vec::new();
        for SettingInfo { key, description, default } in describe() {
            let key = SettingKey::parse(&key);
            let within: Vec<&SettingEntry> =
                self.entries.values().filter(|entry| entry.key.is_below(&key)).collect();
            let entry = self.entries.get(&key);
            if entry.is_none() && !within.is_empty() {
                all.extend(within.into_iter().map(|entry| EffectiveSetting {
                    key: entry.key.clone(),
                    description: description.clone(),
                    value: entry.key.redact(&entry.value),
                    origin: entry.origin.clone(),
                }));
                continue;
            }
            let (value, origin) = entry.map_or((default, SettingOrigin::Default), |entry| {
                (entry.value.clone(), entry.origin.clone())
            });
            all.push(EffectiveSetting { value: key.redact(&value), key, description, origin });
        }
        all
    }

    /// Returns all warnings.
    pub(crate) fn all_warnings(&self) -> impl Iterator<Item = &SettingDiagnostic> {
        self.warnings.iter().chain(&self.renamed).chain(&self.ignored)
    }

    /// Returns the sources of the settings for the gateway, which shows them to users who want to change one.
    pub(crate) fn origin(&self) -> SettingsOrigin {
        let rules = self.entries.get(&SettingKey::from_parts(&["policy", "rules"]));
        let in_file = rules.filter(|entry| matches!(entry.origin, SettingOrigin::File { .. }));
        SettingsOrigin {
            file: self.file.clone(),
            rule_lines: in_file.map(|entry| entry.element_lines.clone()).unwrap_or_default(),
            server_lines: self.table_lines(&SettingKey::from_parts(&["mcp", "servers"])),
        }
    }

    /// Returns the first line of each subtable in the file, by name.
    fn table_lines(&self, table: &SettingKey) -> BTreeMap<String, usize> {
        let mut lines = BTreeMap::new();
        for entry in self.entries.values().filter(|entry| entry.key.is_below(table)) {
            if let (Some(name), SettingOrigin::File { line, .. }) =
                (entry.key.parts().get(table.parts().len()), &entry.origin)
            {
                lines
                    .entry(name.clone())
                    .and_modify(|first: &mut usize| *first = *line.min(first))
                    .or_insert(*line);
            }
        }
        lines
    }

    /// Returns the number of settings that are not defaults.
    pub(crate) fn set_count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the keys of all settings that differ.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let values = |it: &Self| -> BTreeMap<SettingKey, Value> {
            it.effective_settings().into_iter().map(|one| (one.key, one.value)).collect()
        };
        let (ours, theirs) = (values(self), values(other));
        let keys: std::collections::BTreeSet<&SettingKey> = ours.keys().chain(theirs.keys()).collect();
        keys.into_iter().filter(|key| ours.get(key) != theirs.get(key)).map(SettingKey::to_string).collect()
    }
}

#[cfg(test)]
mod tests;
