//! Reads a provider's answer to `get_tool_info`: one tool (dialects A and B), or several in one JSON text
//! (C).

use super::{inputs, properties, success};
use crate::bounds::{self, cut};
use crate::bundle::{Bundle, BundleValue};
use crate::dialect::ProviderDialect;
use crate::failure::{ProviderFailure, malformed, require_bundle, text};
use crate::note::ProviderNotes;
use crate::provider_tool_list::{ProviderToolDescription, ProviderToolList};

/// Reads the tools of an answer and determines the dialect: a provider that is found by the action uses B or
/// C, and its answer shows which one.
///
/// # Errors
/// [`ProviderFailure`] if the answer is an error or malformed.
pub fn read_info(
    bundle: Option<&Bundle>,
    found_as: ProviderDialect,
) -> Result<(ProviderDialect, ProviderToolList), ProviderFailure> {
    let bundle = require_bundle(bundle)?;
    let mut notes = ProviderNotes::default();
    let names_tools = bundle.get("tool_name").is_some() || bundle.get("tool").is_some();
    if bundle.get("success").is_none() && names_tools {
        notes.flag(None, "its answer to get_tool_info has no \"success\"");
    } else {
        success(bundle)?;
    }
    if bundle.get("tool").is_some() && bundle.get("tool_name").is_none() {
        let described = inputs::read(text(bundle, "tool")?, &mut notes)?;
        return Ok((ProviderDialect::McpC, ProviderToolList::new(described, notes)));
    }
    let described = one_tool(bundle, &mut notes)?;
    Ok((found_as, ProviderToolList::new(vec![described], notes)))
}

fn one_tool(bundle: &Bundle, notes: &mut ProviderNotes) -> Result<ProviderToolDescription, ProviderFailure> {
    let name = text(bundle, "tool_name")?;
    if name.is_empty() {
        return Err(malformed("its \"tool_name\" is empty"));
    }
    let description = match bundle.get("tool_description") {
        Some(BundleValue::Text(text)) => Some(text.clone()),
        Some(other) => {
            notes.flag(Some(name), format!("its description is {} and is left out", other.type_name()));
            None
        }
        None => None,
    };
    let required = required(bundle, name, notes);
    let schema = match bundle.get("tool_input_schema") {
        Some(BundleValue::Text(text)) if !text.trim().is_empty() => Some(text.as_str()),
        Some(BundleValue::Text(_)) | None => None,
        Some(other) => {
            notes.flag(
                Some(name),
                format!(
                    "its \"tool_input_schema\" is {} and not a string; it is offered without parameters",
                    cut(other.type_name(), 100)
                ),
            );
            None
        }
    };
    let parameters = schema.and_then(|schema| {
        if schema.len() > bounds::SCHEMA_BYTES {
            // Kept unchanged, so that the tool is refused because of its size.
            return Some(schema.to_owned());
        }
        match properties::schema(schema, &required, |reason| notes.flag(Some(name), reason)) {
            Ok(schema) => Some(schema),
            Err(reason) => {
                notes.flag(Some(name), format!("{reason}; it is offered without parameters"));
                None
            }
        }
    });
    Ok(ProviderToolDescription { name: name.to_owned(), description, parameters })
}

/// The class of an array of strings that can't be read: adb prints only the class.
const STRINGS: &str = "java.lang.String[]";

fn required(bundle: &Bundle, tool: &str, notes: &mut ProviderNotes) -> Vec<String> {
    match bundle.get("tool_input_required") {
        None => Vec::new(),
        Some(BundleValue::Texts(names)) => {
            if names.len() > bounds::INPUTS {
                notes.flag(
                    Some(tool),
                    format!("it requires {} parameters; the maximum is {}", names.len(), bounds::INPUTS),
                );
            }
            names.iter().take(bounds::INPUTS).cloned().collect()
        }
        Some(BundleValue::Other(class)) if class == STRINGS => {
            notes.flag(
                Some(tool),
                "its list of required parameters can't be read over adb; none counts as required",
            );
            Vec::new()
        }
        Some(other) => {
            notes.flag(Some(tool), format!(
                "its \"tool_input_required\" is {} and not an array of strings; nothing counts as required",
                cut(other.type_name(), 100)
            ));
            Vec::new()
        }
    }
}
