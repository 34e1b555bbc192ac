//! A device's report on the apps whose tools it bridges. The report is shown to the owner and has no other
//! effect, because it is the device's own description of itself.

use std::fmt::Display;

use toolway_wire::client_message::app_providers::{
    AppProvider, MAX_BYTES, MAX_NOTES, MAX_PROVIDERS, MAX_SCOPES, MAX_TEXT, MAX_TOOLS,
};

/// A device's report on the apps whose tools it bridges.
#[derive(Debug)]
pub(crate) struct AppProviderReport {
    /// Time at which the device sent it, in milliseconds since the Unix epoch.
    pub(crate) as_of_ms: i64,
    /// The apps, each with its state.
    pub(crate) providers: Vec<AppProvider>,
}

/// A report that exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReportTooLarge(String);

impl AppProviderReport {
    /// Creates a report, if it is within the protocol's limits.
    ///
    /// # Errors
    /// [`ReportTooLarge`] with the part that exceeds its limit.
    pub(crate) fn new(as_of_ms: i64, providers: Vec<AppProvider>) -> Result<Self, ReportTooLarge> {
        check_size(&providers).map_err(ReportTooLarge)?;
        Ok(Self { as_of_ms, providers })
    }
}

fn check_size(providers: &[AppProvider]) -> Result<(), String> {
    let mut bytes = 0;
    most("providers", providers.len(), MAX_PROVIDERS)?;
    for (at, provider) in providers.iter().enumerate() {
        check_one(provider, &mut bytes).map_err(|excess| format!("providers[{at}].{excess}"))?;
    }
    if bytes > MAX_BYTES {
        return Err(format!("its texts take {bytes} bytes; {MAX_BYTES} are accepted"));
    }
    Ok(())
}

fn check_one(provider: &AppProvider, bytes: &mut usize) -> Result<(), String> {
    let AppProvider { authority, package, label, prefix, dialect, reason, hint, info, tools, notes, .. } =
        provider;
    let mut text = |name: &dyn Display, text: &str| {
        *bytes += text.len();
        // Characters are counted only if there could be too many.
        if text.len() > MAX_TEXT && text.chars().nth(MAX_TEXT).is_some() {
            return Err(format!("{name} is longer than {MAX_TEXT} characters"));
        }
        Ok(())
    };
    most("tools", tools.len(), MAX_TOOLS)?;
    most("notes", notes.len(), MAX_NOTES)?;
    for (name, value) in
        [("authority", authority), ("package", package), ("label", label), ("dialect", dialect)]
    {
        text(&name, value)?;
    }
    for (name, value) in [("prefix", prefix), ("reason", reason), ("hint", hint)] {
        text(&name, value.as_deref().unwrap_or_default())?;
    }
    if let Some(info) = info {
        most("info.scopes", info.scopes.len(), MAX_SCOPES)?;
        text(&"info.name", &info.name)?;
        text(&"info.description", info.description.as_deref().unwrap_or_default())?;
        for (at, scope) in info.scopes.iter().enumerate() {
            text(&format_args!("info.scopes[{at}].name"), &scope.name)?;
            let description = scope.description.as_deref().unwrap_or_default();
            text(&format_args!("info.scopes[{at}].description"), description)?;
        }
    }
    for (at, tool) in tools.iter().enumerate() {
        text(&format_args!("tools[{at}]"), tool)?;
    }
    for (at, note) in notes.iter().enumerate() {
        text(&format_args!("notes[{at}].tool"), note.tool.as_deref().unwrap_or_default())?;
        text(&format_args!("notes[{at}].reason"), &note.reason)?;
    }
    Ok(())
}

fn most(what: &str, count: usize, limit: usize) -> Result<(), String> {
    if count > limit {
        return Err(format!("{what} has {count} entries; {limit} are accepted"));
    }
    Ok(())
}
