//! Reads the list of a provider's tools.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::read_reply;
use crate::bounds;
use crate::bundle::Bundle;
use crate::failure::{ProviderFailure, malformed};
use crate::note::ProviderNotes;
use crate::ordered_json::ObjectMembers;
use crate::provider_tool_list::{ProviderToolDescription, ProviderToolList};
use toolway_types::json::nests_deeper_than;

#[derive(Deserialize)]
struct ToolListData<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

/// Reads the tools of an answer to `list_tools`. A problem of one tool does not affect the others; unknown
/// fields are ignored (CETP, section 2.5).
///
/// # Errors
/// [`ProviderFailure`] if the answer is an error or not a list.
pub fn read_list(bundle: Option<&Bundle>) -> Result<ProviderToolList, ProviderFailure> {
    let data = read_reply(bundle)?;
    if nests_deeper_than(data, bounds::DEPTH) {
        return Err(malformed(format!("its list nests deeper than {} levels", bounds::DEPTH)));
    }
    let data: ToolListData<'_> =
        serde_json::from_str(data).map_err(|error| malformed(format!("its list of tools: {error}")))?;
    let mut notes = ProviderNotes::default();
    let described =
        data.tools.iter().enumerate().filter_map(|(at, tool)| describe(at, tool, &mut notes)).collect();
    Ok(ProviderToolList::new(described, notes))
}

fn describe(at: usize, tool: &RawValue, notes: &mut ProviderNotes) -> Option<ProviderToolDescription> {
    let place = || format!("the tool at place {} of the list", at + 1);
    let Some(fields) = ObjectMembers::of(tool) else {
        notes.refuse(None, format!("{} is not an object", place()));
        return None;
    };
    let text = |key| {
        fields.get(key).and_then(|value| serde_json::from_str::<Option<String>>(value.get()).transpose())
    };
    let name = match text("name") {
        Some(Ok(name)) if !name.is_empty() => name,
        Some(Ok(_)) | None => {
            notes.refuse(None, format!("{} has no name", place()));
            return None;
        }
        Some(Err(_)) => {
            notes.refuse(None, format!("the name of {} is not a string", place()));
            return None;
        }
    };
    let description = match text("description") {
        Some(Ok(description)) => Some(description),
        Some(Err(_)) => {
            notes.flag(Some(&name), "its description is not a string and is left out");
            None
        }
        None => None,
    };
    let parameters = fields.get("parameters").map(|value| value.get().to_owned());
    Some(ProviderToolDescription { name, description, parameters })
}
