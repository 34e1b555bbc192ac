//! The tools of one provider of any dialect: validated, within limits, and ready to be offered.

use std::collections::HashSet;

use toolway_device::Tool;
use toolway_types::{RawJson, SpecDocument, ToolName};

use crate::bounds::{self, cut};
use crate::note::ProviderNotes;

/// A tool as described by its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderToolDescription {
    /// Name of the tool.
    pub name: String,
    /// Description of the tool.
    pub description: Option<String>,
    /// JSON Schema of its arguments; absent, null, `{}` and `[]` mean no arguments.
    pub parameters: Option<String>,
}

/// The tools of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderToolList {
    /// Usable tools under their own names, in the provider's order.
    pub tools: Vec<SpecDocument>,
    /// Notes about problems.
    pub notes: ProviderNotes,
}

impl ProviderToolList {
    /// Keeps the usable tools, and adds notes about the others.
    #[must_use]
    pub fn new(described: Vec<ProviderToolDescription>, mut notes: ProviderNotes) -> Self {
        let mut names = HashSet::new();
        let mut tools = Vec::new();
        let mut untaken = 0usize;
        for tool in described {
            if tools.len() == bounds::TOOLS {
                untaken += 1;
                continue;
            }
            if !names.insert(tool.name.clone()) {
                notes.refuse(Some(&tool.name), "another tool in the list has the same name");
                continue;
            }
            match usable(tool, &mut notes) {
                Ok(spec) => tools.push(spec),
                Err((name, reason)) => notes.refuse(Some(&name), reason),
            }
        }
        if untaken > 0 {
            notes.refuse(
                None,
                format!("{untaken} more tools ignored: a provider can have at most {}", bounds::TOOLS),
            );
        }
        Self { tools, notes }
    }
}

/// Returns the spec, or the tool's name and the reason why it is unusable.
fn usable(
    tool: ProviderToolDescription,
    notes: &mut ProviderNotes,
) -> Result<SpecDocument, (String, String)> {
    let ProviderToolDescription { name, description, parameters } = tool;
    if let Err(error) = name.parse::<ToolName>() {
        return Err((name, error.to_string()));
    }
    let mut spec = SpecDocument::named(&name);
    match description {
        None => notes.flag(Some(&name), "it has no description, so models do not know its purpose"),
        Some(text) if text.trim().is_empty() => notes.flag(Some(&name), "its description is empty"),
        Some(text) => {
            let short = cut(&text, bounds::DESCRIPTION);
            if short.len() != text.len() {
                notes.flag(
                    Some(&name),
                    format!("its description is longer than {} characters and was cut", bounds::DESCRIPTION),
                );
            }
            spec.description = Some(short);
        }
    }
    if let Some(parameters) = parameters {
        if parameters.len() > bounds::SCHEMA_BYTES {
            let reason = format!(
                "the schema of its parameters takes {} bytes, more than the {} that are accepted",
                parameters.len(),
                bounds::SCHEMA_BYTES
            );
            return Err((name, reason));
        }
        match RawJson::parse(&parameters) {
            Ok(parameters) => {
                let root = parameters.to_value();
                if root.get("type").is_some_and(|of_root| of_root != "object") {
                    return Err((name, "the type of its parameter schema is not \"object\"".to_owned()));
                }
                spec.parameters = (!root.is_null()).then_some(parameters);
            }
            Err(error) => return Err((name, format!("the schema of its parameters is not JSON: {error}"))),
        }
    }
    let check = Tool::new(spec.clone(), |_, _| async { Ok(()) }).check();
    match check {
        Ok(()) => Ok(spec),
        Err(error) => Err((name, cut(&error.to_string(), bounds::TEXT))),
    }
}
