//! The gateway's settings from where they may stand: defaults, `toolway.toml`, `TOOLWAY_A__B` variables,
//! flags; each layer over the one before. Every effective value is kept with where it came from, and
//! everything that is wrong is reported at once, each with its place.

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

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// Nowhere: it is the default.
    Default,
    /// In a file, at a line (from 1).
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// In a variable.
    Variable(String),
    /// In a flag.
    Flag(String),
}

impl SettingOrigin {
    /// In which order places are gone through: the file by line, variables, flags.
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

/// A value that was set somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettingEntry {
    pub(crate) key: SettingKey,
    pub(crate) value: Value,
    pub(crate) origin: SettingOrigin,
    /// Where it is a list in a file: the line of each element.
    pub(crate) element_lines: Vec<usize>,
}

impl SettingEntry {
    fn new(key: SettingKey, value: Value, origin: SettingOrigin) -> Self {
        Self { key, value, origin, element_lines: Vec::new() }
    }
}

/// A flag that sets something: its name, and `key=value`'s two halves.
#[derive(Debug, Clone)]
pub(crate) struct FlagSetting {
    /// As typed: `--listen`.
    pub(crate) flag: String,
    /// What it sets.
    pub(crate) key: String,
    /// To what, as text.
    pub(crate) text: String,
}

/// All places where settings may stand.
#[derive(Debug, Clone)]
pub(crate) struct SettingSources {
    /// The settings file.
    pub(crate) file: PathBuf,
    /// Whether it was asked for by name, so that it must exist.
    pub(crate) is_file_required: bool,
    /// Variables that start as ours do.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Flags.
    pub(crate) flags: Vec<FlagSetting>,
}

/// One setting with its effective value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EffectiveSetting {
    /// Its full name.
    pub(crate) key: SettingKey,
    /// What it is.
    pub(crate) description: String,
    /// Its value, hidden where it is a secret.
    pub(crate) value: Value,
    /// Where the value stands.
    pub(crate) origin: SettingOrigin,
}

/// Settings that are right, with where each came from.
#[derive(Debug, Clone)]
pub(crate) struct LoadedSettings {
    /// The values.
    pub(crate) settings: Settings,
    /// The file, where there is one.
    pub(crate) file: Option<PathBuf>,
    /// What is allowed but should be known.
    pub(crate) warnings: Vec<SettingDiagnostic>,
    /// Variables that look like settings and are none.
    pub(crate) ignored: Vec<SettingDiagnostic>,
    /// Settings that are given by a former name.
    pub(crate) renamed: Vec<SettingDiagnostic>,
    entries: BTreeMap<SettingKey, SettingEntry>,
}

/// Something wrong, or to be known, about a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingDiagnostic {
    /// Where it stands.
    pub(crate) origin: SettingOrigin,
    /// What is wrong.
    pub(crate) problem: String,
    /// What to do about it.
    pub(crate) hint: String,
}

impl SettingDiagnostic {
    fn new(origin: SettingOrigin, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { origin, problem: what.into(), hint: hint.into() }
    }

    /// Place and matter in one line.
    pub(crate) fn message(&self) -> String {
        match self.origin {
            SettingOrigin::Default => self.problem.clone(),
            _ => format!("{}: {}", self.origin, self.problem),
        }
    }
}

/// Everything that is wrong, as one failure.
pub(crate) fn settings_error(wrong: &[SettingDiagnostic]) -> CliError {
    let problem = |it: &SettingDiagnostic| CliProblem {
        message: it.message(),
        hint: Some(it.hint.clone()).filter(|hint| !hint.is_empty()),
    };
    let what = if wrong.len() == 1 {
        "a setting is wrong".to_owned()
    } else {
        format!("{} settings are wrong", wrong.len())
    };
    CliError::new(what)
        .with_code("settings")
        .with_problems(wrong.iter().map(problem).collect())
        .with_hint("`toolway config show` lists the settings; `toolway config check` checks them without starting anything")
}

/// Every setting with its description, made from the schema of them all when it is asked for: where nothing is wrong
/// with the settings, that is hardly ever.
type SettingCatalog = LazyCell<Vec<SettingInfo>>;

/// Reads all sources and lays them over one another.
///
/// # Errors
/// Everything that is wrong.
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

/// A relative path in a file is meant from that file's folder; elsewhere from where the program was started.
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
    /// Every setting with its effective value, in the order in which they are documented.
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

    /// Everything that is allowed but should be known.
    pub(crate) fn all_warnings(&self) -> impl Iterator<Item = &SettingDiagnostic> {
        self.warnings.iter().chain(&self.renamed).chain(&self.ignored)
    }

    /// Where the settings stand, as the gateway says it to whoever wants to change one over the network.
    pub(crate) fn origin(&self) -> SettingsOrigin {
        let rules = self.entries.get(&SettingKey::from_parts(&["policy", "rules"]));
        let in_file = rules.filter(|entry| matches!(entry.origin, SettingOrigin::File { .. }));
        SettingsOrigin {
            file: self.file.clone(),
            rule_lines: in_file.map(|entry| entry.element_lines.clone()).unwrap_or_default(),
            server_lines: self.table_lines(&SettingKey::from_parts(&["mcp", "servers"])),
        }
    }

    /// The first line in the file of each table in this one, by its name.
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

    /// How many settings are set somewhere.
    pub(crate) fn set_count(&self) -> usize {
        self.entries.len()
    }

    /// The names of all settings that have another value there.
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
