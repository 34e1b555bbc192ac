//! Agents in the form of version 1. Its lists have names of tools in place of patterns.

use serde_json::{Map, Value};
use toolway_agent::agents::{AgentView, DEFAULT_AGENT};
use toolway_agent::definition::AgentDefinition;
use toolway_api::version_1::{Persona, PersonaChange};
use toolway_types::{Principal, Slug};

use crate::chat::ChatService;
use crate::chat::visible_agent::VisibleAgent;

/// Pattern of all tools.
const ALL_TOOLS: &str = "*/*";

/// Returns the part of an agent that this principal may see.
pub(super) fn persona_of(view: AgentView, principal: &Principal) -> Persona {
    let VisibleAgent { definition, .. } = VisibleAgent::of(view, principal);
    let patterns = definition.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
    let patterns: Vec<&str> = patterns.iter().filter_map(Value::as_str).collect();
    let allowed = patterns.iter().filter(|it| !it.starts_with('!') && **it != ALL_TOOLS);
    let denied = patterns.iter().filter_map(|pattern| pattern.strip_prefix('!'));
    let name = text(&definition, "name").unwrap_or_default();
    let prompt = text(&definition, "prompt");
    Persona {
        is_persona: name != DEFAULT_AGENT,
        name,
        has_identity: false,
        has_system_prompt: prompt.is_some(),
        system_prompt: prompt,
        allowed_tools: allowed.map(|pattern| tool_name(pattern)).collect(),
        denied_tools: denied.map(tool_name).collect(),
        denied_skills: Vec::new(),
        model: text(&definition, "model"),
    }
}

fn text(definition: &Map<String, Value>, field: &str) -> Option<String> {
    definition.get(field)?.as_str().map(str::to_owned)
}

/// Returns an agent's definition with a change by an app of version 1.
pub(super) fn changed_definition(chat: &ChatService, name: &str, change: PersonaChange) -> AgentDefinition {
    let known = chat.agents.view(name).ok().map(|view| view.definition.as_ref().clone());
    let mut definition =
        known.unwrap_or_else(|| AgentDefinition { name: name.to_owned(), ..AgentDefinition::default() });
    if let Some(prompt) = change.system_prompt {
        definition.prompt = prompt;
    }
    if let Some(model) = change.model {
        definition.model = (!model.is_empty()).then(|| model_name(chat, model));
    }
    if change.allowed_tools.is_some() || change.denied_tools.is_some() {
        definition.tools = tool_patterns(
            &change.allowed_tools.unwrap_or_default(),
            &change.denied_tools.unwrap_or_default(),
        );
    }
    definition
}

/// Returns a model as `NAME/ID`. Apps of version 1 know only one provider, and may name a model by its id alone.
fn model_name(chat: &ChatService, model: String) -> String {
    if chat.models.get(Some(&model)).is_ok() {
        return model;
    }
    match chat.models.get(None) {
        Ok(first) => format!("{}/{model}", first.provider.name()),
        Err(_) => model,
    }
}

fn tool_patterns(allowed: &[String], denied: &[String]) -> Vec<String> {
    let allowed = if allowed.is_empty() { vec![ALL_TOOLS.to_owned()] } else { patterns(allowed) };
    let denied = patterns(denied).into_iter().map(|pattern| format!("!{pattern}"));
    allowed.into_iter().chain(denied).collect()
}

fn patterns(names: &[String]) -> Vec<String> {
    names.iter().map(|name| tool_pattern(name)).collect()
}

/// Converts the full name of a tool to a pattern. A bare name means the tools of this name of all sources.
fn tool_pattern(name: &str) -> String {
    match name.split_once("__") {
        _ if name.contains('/') => name.to_owned(),
        Some((source, tool)) if source.parse::<Slug>().is_ok() && !tool.is_empty() => {
            format!("{source}/{tool}")
        }
        _ => format!("*/{name}"),
    }
}

/// Converts a pattern to the name of a tool, if it stands for one.
fn tool_name(pattern: &str) -> String {
    match pattern.split_once('/') {
        Some(("*" | "builtin", tool)) if !tool.contains('*') => tool.to_owned(),
        Some((source, tool)) if !pattern.contains('*') => format!("{source}__{tool}"),
        _ => pattern.to_owned(),
    }
}

#[cfg(test)]
mod tests;
