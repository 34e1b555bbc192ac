//! Parser for `models.toml`: its `[[model]]` entries, each checked by itself. Every problem has its line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Table, Value};
use toolway_models::ProviderKind;
use toolway_models::config::{BaseUrl, ProviderConfig, SwitchChanges, Switches};
use toolway_models::presets::{self, ProviderPreset};
use toolway_types::describe_renamed_field;

use super::ModelFacts;
use crate::name_suggestions;
use toolway_files::owner_file::{self, FileProblem, TextProblem, line_of};
use toolway_secrets::SecretLocation;

/// Fields and values that had another name in version 0.1.
const RENAMED_FIELDS: &[(&str, &str)] = &[
    ("switches", "compatibility"),
    ("output", "structured_output"),
    ("words", "string_only"),
    ("thinking_s", "first_token_s"),
    ("between_s", "idle_s"),
    ("attempts", "max_attempts"),
    ("first_wait_s", "initial_backoff_s"),
    ("longest_wait_s", "max_backoff_s"),
    ("context_tokens", "context_window"),
];
/// Maximum length of a model provider's name.
const MAX_NAME: usize = 32;
/// Maximum number of model providers.
const MAX_PROVIDERS: usize = 256;

/// Content of `models.toml`.
#[derive(Debug, Clone, Default)]
pub struct ModelsFile {
    /// Its entries, in order.
    pub entries: Vec<ModelEntry>,
}

/// One model provider.
#[derive(Debug, Clone)]
pub struct ModelEntry {
    /// Configuration without the key.
    pub config: ProviderConfig,
    /// Location of the key; `None` if no key is sent.
    pub key: Option<SecretLocation>,
    /// Name of its preset.
    pub preset: Option<String>,
    /// Default model, for references that name only the provider.
    pub model: Option<Arc<str>>,
    /// Known facts about single models.
    pub models: BTreeMap<String, ModelFacts>,
    /// The line in the file, from 1.
    pub line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModelEntry {
    name: Spanned<String>,
    kind: Option<Spanned<String>>,
    preset: Option<Spanned<String>>,
    base_url: Option<Spanned<String>>,
    key: Option<Spanned<SecretLocation>>,
    model: Option<Spanned<String>>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<String>>,
    compatibility: Option<Spanned<SwitchChanges>>,
    timeouts: Option<Spanned<Table>>,
    retries: Option<Spanned<Table>>,
    #[serde(default)]
    models: BTreeMap<String, Spanned<ModelFacts>>,
}

impl ModelsFile {
    /// Parses the text of a file that is, or will be, at `path`.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Vec<FileProblem>> {
        let (mut file, mut wrong) = (Self::default(), Vec::new());
        match DeTable::parse(text) {
            Ok(table) => file.read(text, path, table.into_inner(), &mut wrong),
            Err(error) => wrong.push(TextProblem::from_toml(0, &error, RENAMED_FIELDS)),
        }
        owner_file::all_or_nothing(file, wrong, text, path)
    }

    fn read(&mut self, text: &str, path: &Path, table: DeTable<'_>, wrong: &mut Vec<TextProblem>) {
        for (key, value) in table {
            if key.get_ref() != "model" {
                let message = format!("unknown field `{}`, expected `model`", key.get_ref());
                wrong.push(TextProblem::at(key.span(), message));
                continue;
            }
            let span = value.span();
            let DeValue::Array(entries) = value.into_inner() else {
                let message = "each model provider starts with a line [[model]], in double brackets";
                wrong.push(TextProblem::at(span, message));
                continue;
            };
            if entries.len() > MAX_PROVIDERS {
                let message =
                    format!("there are {} model providers; the maximum is {MAX_PROVIDERS}", entries.len());
                wrong.push(TextProblem::at(span, message));
            }
            for entry in entries.into_iter().take(MAX_PROVIDERS) {
                let start = entry.span().start;
                let written = RawModelEntry::deserialize(ValueDeserializer::from(entry));
                match written.map_err(|error| TextProblem::from_toml(start, &error, RENAMED_FIELDS)) {
                    Ok(written) => self.add_entry(written, text, path, start, wrong),
                    Err(problem) => wrong.push(problem),
                }
            }
        }
    }

    fn add_entry(
        &mut self,
        written: RawModelEntry,
        text: &str,
        path: &Path,
        start: usize,
        wrong: &mut Vec<TextProblem>,
    ) {
        let name = written.name.get_ref().as_str();
        if let Some(other) = self.entries.iter().find(|entry| *entry.config.name == *name) {
            let message = format!("there is another model provider {name:?}, in line {}", other.line);
            wrong.push(TextProblem::at(written.name.span(), message));
            return;
        }
        let line = line_of(text, start);
        match entry(written, path, line) {
            Ok(entry) => self.entries.push(entry),
            Err(problems) => wrong.extend(problems),
        }
    }
}

fn entry(written: RawModelEntry, path: &Path, line: usize) -> Result<ModelEntry, Vec<TextProblem>> {
    let mut wrong = Vec::new();
    let mut note = |problem: TextProblem| wrong.push(problem);
    let name = written.name.get_ref();
    if !is_name(name) {
        let message = format!(
            "{name:?} is not a valid name; use a lower-case letter, then at most {} lower-case letters, digits and hyphens",
            MAX_NAME - 1
        );
        note(TextProblem::at(written.name.span(), message));
    }
    let preset = preset(&written).unwrap_or_else(|problem| {
        note(problem);
        None
    });
    let kind = kind(&written, preset).unwrap_or_else(|problem| {
        note(problem);
        None
    });
    let base_url = base_url(&written, preset, kind).unwrap_or_else(|problem| {
        note(problem);
        None
    });
    let headers = headers(&written).unwrap_or_else(|problem| {
        note(problem);
        http::HeaderMap::new()
    });
    let timeouts = overlay(preset.map(|it| it.timeouts()).unwrap_or_default(), written.timeouts.as_ref())
        .map_err(&mut note)
        .unwrap_or_default();
    let retries =
        overlay(Default::default(), written.retries.as_ref()).map_err(&mut note).unwrap_or_default();
    for (id, facts) in &written.models {
        if facts.get_ref().context_tokens == Some(0) || facts.get_ref().max_tools == Some(0) {
            let message = format!("a number of the model {id:?} is 0; remove it if it is not known");
            note(TextProblem::at(facts.span(), message));
        }
    }
    if let Some(model) = written.model.as_ref().filter(|model| model.get_ref().trim().is_empty()) {
        note(TextProblem::at(
            model.span(),
            "the model's id is empty; remove `model` if there is no default model",
        ));
    }
    // An unknown kind has its own error.
    let has_switches = kind.is_none_or(ProviderKind::has_switches);
    if let Some(switches) = written.compatibility.as_ref().filter(|_| !has_switches) {
        let words = "`compatibility` applies only to OpenAI's APIs; this kind has another API";
        note(TextProblem::at(switches.span(), words).with_hint("remove it"));
    }
    let (Some(kind), Some(base_url)) = (kind, base_url) else { return Err(wrong) };
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let key = match written.key {
        Some(key) => Some(resolve_path(key.into_inner(), path)),
        None => {
            preset.and_then(|preset| preset.key_env).map(|variable| SecretLocation::Env(variable.to_owned()))
        }
    };
    let switches = preset.map_or_else(|| Switches::for_kind(kind), |preset| preset.compatibility());
    let switches =
        written.compatibility.as_ref().map_or(switches.clone(), |changes| switches.with(changes.get_ref()));
    let mut config = ProviderConfig::new(name.as_str(), kind, base_url);
    config.key_location = match &key {
        Some(place) => place.to_string(),
        None => format!("`key` of the model provider {name} in {}", path.display()),
    };
    (config.headers, config.compatibility, config.timeouts, config.retries) =
        (headers, switches, timeouts, retries);
    Ok(ModelEntry {
        config,
        key,
        preset: preset.map(|preset| preset.name.to_owned()),
        model: written.model.map(|model| model.into_inner().into()),
        models: written.models.into_iter().map(|(id, facts)| (id, facts.into_inner())).collect(),
        line,
    })
}

/// Returns whether a text is a valid name of a model provider: `[a-z][a-z0-9-]{0,31}`.
fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn preset(written: &RawModelEntry) -> Result<Option<&'static ProviderPreset>, TextProblem> {
    let Some(said) = &written.preset else { return Ok(None) };
    let found = presets::get(said.get_ref());
    found.map(Some).ok_or_else(|| {
        let close =
            name_suggestions::close_names(said.get_ref(), presets::ALL.iter().map(|preset| preset.name));
        let problem = TextProblem::at(said.span(), format!("there is no preset {:?}", said.get_ref()));
        match name_suggestions::did_you_mean(&close) {
            Some(hint) => problem.with_hint(hint),
            None => problem.with_hint("use `kind` and `base_url` instead"),
        }
    })
}

fn kind(
    written: &RawModelEntry,
    preset: Option<&ProviderPreset>,
) -> Result<Option<ProviderKind>, TextProblem> {
    match (&written.kind, preset) {
        (Some(said), preset) => {
            let kind: ProviderKind = said
                .get_ref()
                .parse()
                .map_err(|unknown| TextProblem::at(said.span(), format!("{unknown}")))?;
            match preset.filter(|preset| preset.kind != kind) {
                Some(preset) => {
                    let message = format!("the preset {:?} is of the kind {}", preset.name, preset.kind);
                    Err(TextProblem::at(said.span(), message).with_hint("remove `kind` or `preset`"))
                }
                None => Ok(Some(kind)),
            }
        }
        (None, Some(preset)) => Ok(Some(preset.kind)),
        // What is wrong with the preset was said.
        (None, None) if written.preset.is_some() => Ok(None),
        (None, None) => Err(TextProblem::at(written.name.span(), "`kind` or `preset` is required")
            .with_hint(format!("kind is {}", ProviderKind::names()))),
    }
}

/// Returns the base URL of the entry, of its preset, or else of the preset that is named like its kind.
fn base_url(
    written: &RawModelEntry,
    preset: Option<&ProviderPreset>,
    kind: Option<ProviderKind>,
) -> Result<Option<BaseUrl>, TextProblem> {
    let own = || kind.and_then(|kind| presets::ALL.iter().find(|preset| preset.name == kind.as_str()));
    let (text, span) = match (&written.base_url, preset.or_else(own)) {
        (Some(said), _) => (said.get_ref().as_str(), said.span()),
        (None, Some(preset)) => (preset.base_url, written.name.span()),
        (None, None) if kind.is_none() => return Ok(None),
        (None, None) => {
            return Err(TextProblem::at(written.name.span(), "`base_url` is required")
                .with_hint("add base_url = \"https://…\""));
        }
    };
    text.parse().map(Some).map_err(|bad| TextProblem::at(span, format!("base_url: {bad}")))
}

fn headers(written: &RawModelEntry) -> Result<http::HeaderMap, TextProblem> {
    let mut headers = http::HeaderMap::new();
    for (name, value) in &written.headers {
        let bad = |what: &str| TextProblem::at(value.span(), format!("headers: {name:?} {what}"));
        let key = http::HeaderName::try_from(name.as_str()).map_err(|_| bad("is not a valid header name"))?;
        let mut value = http::HeaderValue::try_from(value.get_ref().as_str())
            .map_err(|_| bad("has a value with characters that are invalid in a header"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Replaces the fields of `base` that are written.
fn overlay<T: serde::Serialize + DeserializeOwned>(
    base: T,
    written: Option<&Spanned<Table>>,
) -> Result<T, TextProblem> {
    let Some(written) = written else { return Ok(base) };
    let wrong = |error: &dyn std::fmt::Display| TextProblem::at(written.span(), error.to_string());
    let mut table = match Value::try_from(&base).map_err(|error| wrong(&error))? {
        Value::Table(table) => table,
        _ => Table::new(),
    };
    for (key, value) in written.get_ref() {
        // Whole numbers are numbers too.
        let value = match value {
            Value::Integer(number) if table.get(key).is_some_and(Value::is_float) =>
            {
                #[allow(clippy::cast_precision_loss, reason = "seconds are small")]
                Value::Float(*number as f64)
            }
            other => other.clone(),
        };
        table.insert(key.clone(), value);
    }
    table.try_into().map_err(|error: toml::de::Error| {
        TextProblem::at(written.span(), describe_renamed_field(error.message(), RENAMED_FIELDS))
    })
}

/// Resolves a relative path against the folder of the file.
fn resolve_path(place: SecretLocation, path: &Path) -> SecretLocation {
    match place {
        SecretLocation::File(file) if file.is_relative() => {
            let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
            SecretLocation::File(folder.join(file))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
