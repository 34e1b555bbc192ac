//! Checks a provider's list of tools and the result of listing them.

use serde_json::Value;
use toolway_types::SpecDocument;

use super::authorization::lint_required;
use super::manifest::level_of_note;
use super::{LintFinding, LintFindings};
use crate::dialect::ProviderDialect;
use crate::failure::AuthorizationRequired;
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
            "the provider has no description",
            "implement the optional method get_provider_info: return a name, a description and scopes",
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
            findings.note(place, format!("it requires authorization: {message}"), "");
            let required = AuthorizationRequired {
                message: message.clone(),
                hint: hint.clone(),
                intent: intent.clone(),
            };
            lint_required(&required, place, findings);
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
            format!("its full name, the device's name and {exposed}, is too long for models"),
            "shorten the name of the tool",
        );
    }
    let Some(parameters) = &tool.parameters else { return };
    let schema = parameters.to_value();
    let empty = serde_json::Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    if schema.get("type").is_none() {
        findings.warning(&at, "its schema has no \"type\"", "add \"type\": \"object\"");
    }
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !properties.contains_key(name) {
            findings.error(
                &at,
                format!("{name} is required but not defined in \"properties\""),
                "define the property, or remove it from \"required\"",
            );
        }
    }
    for (name, property) in properties {
        if property.get("description").is_none() && property.get("enum").is_none() {
            findings.note(&at, format!("{name} has no description"), "describe its purpose and format");
        }
        let is_number = property.get("type").and_then(Value::as_str) == Some("number");
        if is_number && provider.dialect != ProviderDialect::Cetp {
            findings.note(
                &at,
                format!(
                    "{name} is a number, and the provider gets it as a string: 3 as \"3\", 2.5 as \"2.5\""
                ),
                "parse the string, or declare an integer",
            );
        }
    }
}
