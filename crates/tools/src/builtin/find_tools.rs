//! `find_tools`: for when there are more tools than a model should be shown at once. Searches by words in
//! what the caller may use, and gives what is needed to call what it finds.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::tool_search::{ToolSearchQuery, ToolSearchRank};
use toolway_core::{Caller, SpecError, Tool, ToolBuilder, ToolSpec};
use toolway_types::{Code, ExposedName, RawJson, ToolError, ToolId, ToolOutput};

use super::{READ_ONLY, numbers};

/// How many are found where the call does not say.
const DEFAULT_LIMIT: usize = 8;
/// How many at most.
const MAX_LIMIT: usize = 50;
/// How much of a description is shown, in bytes.
const DESCRIPTION_BYTES: usize = 200;
/// How much parameter schemas may take together, in bytes; the first is always given.
const SCHEMA_BYTES: usize = 32 << 10;

/// Which tools a caller may use.
pub trait ToolCatalogue: Send + Sync + 'static {
    /// Shows `each` every live tool that `caller` may list, in any order.
    fn visit(&self, caller: &Caller, each: &mut dyn FnMut(&ToolId, &Arc<ToolSpec>));
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindToolsRequest {
    /// Words to look for in the names and descriptions of tools, e.g. "phone battery". Tools that have all of
    /// them come first.
    #[schemars(length(min = 1, max = 1000))]
    query: String,
    /// How many tools to give at most. Defaults to 8.
    #[serde(default, deserialize_with = "numbers::whole")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: Option<u64>,
}

/// What the tool answers.
#[derive(Debug, Serialize)]
struct FindToolsResult {
    tools: Vec<FoundTool>,
    /// How many matched, with those that are left out.
    found: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct FoundTool {
    /// What to call it by.
    name: ExposedName,
    id: ToolId,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<RawJson>,
}

/// The tool.
pub(super) fn tool(catalogue: Arc<dyn ToolCatalogue>) -> Result<Arc<dyn Tool>, SpecError> {
    let description = "Find tools by words in their names and descriptions, with what is needed to call them";
    ToolBuilder::new("find_tools", description)
        .title("Find tools")
        .annotations(&READ_ONLY)
        .timeout(Duration::from_secs(5))
        .build(move |request: FindToolsRequest, cx| {
            let catalogue = catalogue.clone();
            async move {
                // With many thousand tools, a search takes several milliseconds.
                let search = move || find(&*catalogue, cx.caller(), &request);
                let answer = tokio::task::spawn_blocking(search)
                    .await
                    .map_err(|error| ToolError::new(Code::ToolPanicked, error.to_string()))??;
                let value = RawJson::from_value(&answer)
                    .map_err(|error| ToolError::new(Code::ToolFailed, error.to_string()))?;
                Ok(ToolOutput::structured(value))
            }
        })
}

fn find(
    catalogue: &dyn ToolCatalogue,
    caller: &Caller,
    request: &FindToolsRequest,
) -> Result<FindToolsResult, ToolError> {
    let limit = request.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(DEFAULT_LIMIT);
    let limit = limit.clamp(1, MAX_LIMIT);
    let Some(query) = ToolSearchQuery::new(&request.query) else {
        let message = format!("The query {:?} has no words to look for", request.query);
        return Err(ToolError::new(Code::InvalidArguments, message));
    };
    let mut matching: Vec<(ToolSearchRank, ToolId, Arc<ToolSpec>)> = Vec::new();
    let mut searched = 0_usize;
    catalogue.visit(caller, &mut |id, spec| {
        searched += 1;
        if let Some(rank) = query.rank(id, spec) {
            matching.push((rank, id.clone(), spec.clone()));
        }
    });
    // The best first; equals by id, so that the order is always the same.
    matching.sort_unstable_by(|(a, id_a, _), (b, id_b, _)| b.cmp(a).then_with(|| id_a.cmp(id_b)));
    let found = matching.len();
    matching.truncate(limit);
    let mut tools: Vec<_> = matching.iter().map(|(_, id, spec)| FoundTool::new(id, spec)).collect();
    let without_schema = fit_schemas(&mut tools);
    let note = note(found, tools.len(), searched, without_schema);
    Ok(FindToolsResult { tools, found, note })
}

impl FoundTool {
    fn new(id: &ToolId, spec: &ToolSpec) -> Self {
        let parameters = spec.parameters().raw().cloned();
        Self {
            name: id.full_name(),
            id: id.clone(),
            description: cut(spec.description()),
            parameters: Some(parameters.unwrap_or_else(RawJson::empty_object)),
        }
    }
}

/// Takes the schemas out that would make the answer too long; how many those are.
fn fit_schemas(tools: &mut [FoundTool]) -> usize {
    let (mut room, mut without) = (SCHEMA_BYTES, 0);
    for (place, tool) in tools.iter_mut().enumerate() {
        let size = tool.parameters.as_ref().map_or(0, |schema| schema.get().len());
        if size > room && place > 0 {
            tool.parameters = None;
            without += 1;
        } else {
            room = room.saturating_sub(size);
        }
    }
    without
}

fn note(found: usize, given: usize, searched: usize, without_schema: usize) -> Option<String> {
    if found == 0 {
        return Some(format!("None of the {searched} tools has any of these words; try others."));
    }
    let mut notes = Vec::new();
    if found > given {
        notes.push(format!("{} more match; use more words, or a higher limit.", found - given));
    }
    if without_schema > 0 {
        notes
            .push("Where parameters are missing they are long: search for that tool by its name.".to_owned());
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn cut(text: &str) -> String {
    if text.len() <= DESCRIPTION_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(DESCRIPTION_BYTES);
    format!("{}…", text.get(..end).unwrap_or_default().trim_end())
}

#[cfg(test)]
mod tests;
