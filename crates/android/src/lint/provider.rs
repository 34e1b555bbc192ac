//! Checks a provider's list of tools and the result of listing them.

use serde_json::Value;
use toolway_types::SpecDocument;

use super::manifest::level_of_note;
use super::{LintFinding, LintFindings};
use crate::dialect::ProviderDialect;
use crate::provider::{ProviderState, ToolProvider};

/// Maximum length of a name in the APIs of models. A tool's name there is `device__app__tool`.
const MAX_NAME: usize = 64;
/// Assumed length of a device's name; `phone` has five characters.
const DEVICE_NAME_LENGTH: usize = 16;

/// Returns findings about a provider whose tools were listed, the most severe first.
#[must_use]
pub fn lint_provider(provider: &ToolProvider) -> Vec<LintFinding> {
    let mut findings = LintFindings::default();
    lint_state(provider, &mut findings);
    for note in provider.notes.to_vec() {
        let place = note.tool.map_or_else(|| provider.authority.clone(), |tool| tool_place(&tool));
        findings.add(level_of_note(note.kind), &place, note.reason, "");
    }
    for tool in &provider.tools {
        lint_tool(provider, tool, &mut findings);
    }
    if provider.dialect == ProviderDialect::Cetp
        && provider.state == ProviderState::Ready
        && provider.info.is_none()
    {
        findings.note(
            &provider.authority,
            "it has no description of itself",
            "answer get_provider_info, which is optional, with a name, a description and scopes",
        );
    }
    findings.sorted()
}

fn tool_place(tool: &str) -> String {
    format!("tool {tool}")
}

fn lint_state(provider: &ToolProvider, findings: &mut LintFindings) {
    let place = &provider.authority;
    match &provider.state {
        ProviderState::Ready => {}
        ProviderState::Refused { reason, hint, .. } => {
            findings.error(place, reason.clone(), hint.as_deref().unwrap_or_default());
        }
        ProviderState::Unavailable { reason } => findings.error(place, reason.clone(), ""),
        ProviderState::AuthorizationRequired { message, hint, intent } => {
            findings.note(place, format!("it wants to be allowed first: {message}"), "");
            if hint.is_none() {
                findings.warning(place, "it does not say what the person is to do", "resolution_hint");
            }
            match intent {
                None => findings.warning(
                    place,
                    "it names no screen for that, so that only its start screen can be opened",
                    "authorize_intent, the action of an exported activity of this app",
                ),
                Some(intent) if intent.contains([' ', ':', ';', '/']) => findings.error(
                    place,
                    format!("authorize_intent is {intent:?}, which is not an action"),
                    "give the bare action, as in the activity's filter",
                ),
                Some(_) => {}
            }
        }
    }
}

fn lint_tool(provider: &ToolProvider, tool: &SpecDocument, findings: &mut LintFindings) {
    let at = tool_place(&tool.name);
    if let Some(exposed) = provider.exposed_name(&tool.name)
        && exposed.len() + "__".len() + DEVICE_NAME_LENGTH > MAX_NAME
    {
        findings.warning(
            &at,
            format!("as {exposed} it is longer than models take once the device's name stands before it"),
            "shorten it",
        );
    }
    let Some(parameters) = &tool.parameters else { return };
    let schema = parameters.to_value();
    let empty = serde_json::Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    if schema.get("type").is_none() {
        findings.warning(&at, "its schema does not say that it is of an object", "\"type\": \"object\"");
    }
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !properties.contains_key(name) {
            findings.error(
                &at,
                format!("{name} is required and not among its properties, so that no model knows what it is"),
                "describe it, or do not require it",
            );
        }
    }
    for (name, property) in properties {
        if property.get("description").is_none() && property.get("enum").is_none() {
            findings.note(&at, format!("{name} has no description"), "say what it is for, and in which form");
        }
        let is_number = property.get("type").and_then(Value::as_str) == Some("number");
        if is_number && provider.dialect != ProviderDialect::Cetp {
            findings.note(
                &at,
                format!("{name} is a number and arrives as a string: 3 as \"3\", 2.5 as \"2.5\""),
                "read it so; declare an integer where it is one",
            );
        }
    }
}
