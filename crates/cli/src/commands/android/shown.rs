//! Providers and findings as they are shown.

use serde_json::{Value, json};
use toolway_android::lint::{Finding, Level};
use toolway_android::note::NoteKind;
use toolway_android::provider::{Provider, State};

use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::report::Done;

/// The word for a state.
pub(super) fn state(provider: &Provider) -> (&'static str, Style) {
    match provider.state {
        State::Ready => ("ready", Style::Good),
        State::AuthorizationRequired { .. } => ("authorization required", Style::Warning),
        State::Unavailable { .. } => ("unavailable", Style::Warning),
        State::Refused { .. } => ("refused", Style::Error),
    }
}

/// Why it is in that state, and what to do about it.
pub(super) fn reason(provider: &Provider) -> Option<(String, Option<String>)> {
    match &provider.state {
        State::Ready => None,
        State::AuthorizationRequired { message, hint, .. } => Some((
            format!("it wants to be allowed first: {message}"),
            hint.clone().or_else(|| Some("open the app on the phone and allow it there".to_owned())),
        )),
        State::Unavailable { reason } => Some((reason.clone(), None)),
        State::Refused { reason, hint, .. } => Some((reason.clone(), hint.clone())),
    }
}

/// A provider as data.
pub(super) fn provider(provider: &Provider) -> Value {
    let tools: Vec<Value> = provider
        .tools
        .iter()
        .map(|tool| json!({"name": provider.exposed(&tool.name), "tool": tool}))
        .collect();
    let notes: Vec<Value> = provider
        .notes
        .to_vec()
        .into_iter()
        .map(|note| {
            let kind = match note.kind {
                NoteKind::Refused => "refused",
                NoteKind::Flagged => "flagged",
            };
            json!({"kind": kind, "tool": note.tool, "reason": note.reason})
        })
        .collect();
    let why = reason(provider);
    let word = match provider.state {
        State::Ready => "ready",
        State::AuthorizationRequired { .. } => "authorization_required",
        State::Unavailable { .. } => "unavailable",
        State::Refused { .. } => "refused",
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

/// Findings, one below the other.
pub(super) fn findings(findings: &[Finding], context: &Context) -> Done {
    let printer = &context.printer;
    for finding in findings {
        let (word, style) = match finding.level {
            Level::Error => ("error", Style::Error),
            Level::Warning => ("warning", Style::Warning),
            Level::Note => ("note", Style::Faint),
        };
        printer.line(&format!(
            "{} {}: {}",
            printer.paint(style, &format!("{word}:")),
            escape::line(&finding.place),
            escape::line(&finding.what)
        ))?;
        if let Some(remedy) = &finding.remedy {
            printer.line(&format!("    {} {}", printer.paint(Style::Hint, "hint:"), escape::line(remedy)))?;
        }
    }
    Ok(())
}
