//! Formats providers and findings.

use serde_json::{Value, json};
use toolway_android::lint::{LintFinding, LintLevel};
use toolway_android::note::ProviderNoteKind;
use toolway_android::provider::{ProviderState, ToolProvider};

use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::escape;
use crate::print::style::Style;

/// Name and style of a provider's state.
pub(super) fn provider_state(provider: &ToolProvider) -> (&'static str, Style) {
    match provider.state {
        ProviderState::Ready => ("ready", Style::Good),
        ProviderState::AuthorizationRequired { .. } => ("authorization required", Style::Warning),
        ProviderState::Unavailable { .. } => ("unavailable", Style::Warning),
        ProviderState::Refused { .. } => ("refused", Style::Error),
    }
}

/// Returns the reason for the state and a hint.
pub(super) fn state_reason(provider: &ToolProvider) -> Option<(String, Option<String>)> {
    match &provider.state {
        ProviderState::Ready => None,
        ProviderState::AuthorizationRequired { message, hint, .. } => Some((
            format!("it requires authorization: {message}"),
            hint.clone().or_else(|| Some("open the app on the phone and authorize access".to_owned())),
        )),
        ProviderState::Unavailable { reason } => Some((reason.clone(), None)),
        ProviderState::Refused { reason, hint, .. } => Some((reason.clone(), hint.clone())),
    }
}

/// Converts a provider to JSON.
pub(super) fn provider_json(provider: &ToolProvider) -> Value {
    let tools: Vec<Value> = provider
        .tools
        .iter()
        .map(|tool| json!({"name": provider.exposed_name(&tool.name), "tool": tool}))
        .collect();
    let notes: Vec<Value> = provider
        .notes
        .to_vec()
        .into_iter()
        .map(|note| {
            let kind = match note.kind {
                ProviderNoteKind::Refused => "refused",
                ProviderNoteKind::Flagged => "flagged",
            };
            json!({"kind": kind, "tool": note.tool, "reason": note.reason})
        })
        .collect();
    let why = state_reason(provider);
    let word = match provider.state {
        ProviderState::Ready => "ready",
        ProviderState::AuthorizationRequired { .. } => "authorization_required",
        ProviderState::Unavailable { .. } => "unavailable",
        ProviderState::Refused { .. } => "refused",
    };
    json!({
        "authority": provider.authority,
        "package": provider.package,
        "label": provider.label,
        "certificate": provider.certificate,
        "dialect": provider.dialect.as_str(),
        "version": provider.version,
        "permission": provider.permission,
        "prefix": provider.prefix,
        "state": word,
        "reason": why.as_ref().map(|(reason, _)| reason),
        "hint": why.as_ref().and_then(|(_, hint)| hint.as_ref()),
        "info": provider.info.as_ref().map(|info| json!({
            "name": info.name,
            "description": info.description,
            "scopes": info.scopes.iter()
                .map(|scope| json!({"name": scope.name, "description": scope.description}))
                .collect::<Vec<_>>(),
        })),
        "tools": tools,
        "notes": notes,
    })
}

/// Prints findings, one per line.
pub(super) fn print_findings(findings: &[LintFinding], context: &CliContext) -> CliResult {
    let printer = &context.printer;
    for finding in findings {
        let (word, style) = match finding.level {
            LintLevel::Error => ("error", Style::Error),
            LintLevel::Warning => ("warning", Style::Warning),
            LintLevel::Note => ("note", Style::Faint),
        };
        printer.line(&format!(
            "{} {}: {}",
            printer.paint(style, &format!("{word}:")),
            escape::line(&finding.location),
            escape::line(&finding.message)
        ))?;
        if let Some(hint) = &finding.hint {
            printer.line(&format!("    {} {}", printer.paint(Style::Hint, "hint:"), escape::line(hint)))?;
        }
    }
    Ok(())
}
