//! The list of a server's tools, page by page, with the specs as the server wrote them. An invalid tool is skipped
//! with a reason and does not affect the others.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolway_core::{CompileBudget, SpecCache, ToolSpec};
use toolway_types::pattern::SchemaPatterns;
use toolway_types::text::shorten_error;
use toolway_types::{RawJson, SpecDocument, foreign_json};

use super::connection::UpstreamConnection;
use super::deps::UpstreamSettings;
use super::error::UpstreamError;
use super::status::{SkippedTool, UpstreamProblem};
use super::transport::McpTransport;
use crate::param_headers::{self, HeaderParam};

/// Maximum number of skipped tools to report.
const MAX_SKIPPED: usize = 100;
/// Maximum length of a skipped tool's name, in characters.
const MAX_NAME: usize = 128;

/// The tools of a server.
#[derive(Debug, Default)]
pub(super) struct UpstreamToolList {
    /// The usable tools, by name.
    pub(super) tools: Vec<(Arc<ToolSpec>, Vec<HeaderParam>)>,
    /// The skipped tools.
    pub(super) skipped: Vec<SkippedTool>,
    /// The reason why the list may be incomplete.
    pub(super) problem: Option<UpstreamProblem>,
}

/// The items of all pages of a list.
struct ListedItems {
    items: Vec<RawJson>,
    /// The reason why there may be more.
    problem: Option<UpstreamProblem>,
}

/// Lists the tools of a server.
pub(super) async fn list_tools(
    connection: &Arc<UpstreamConnection>,
) -> Result<UpstreamToolList, UpstreamError> {
    let has_tools = connection.negotiated().is_some_and(|settled| settled.facts.capabilities.tools.is_some());
    if !has_tools {
        return Ok(UpstreamToolList::default());
    }
    let ListedItems { items: raw, problem } = list_pages(connection, "tools/list", "tools").await?;
    let parts = connection.server().deps();
    let (specs, most, bytes) =
        (Arc::clone(&parts.specs), parts.settings.max_tools, parts.settings.max_message_bytes);
    let marks_count =
        connection.is_stateless() && matches!(connection.transport(), McpTransport::StreamableHttp(_));
    // Compiling schemas may take long.
    let owner = format!("mcp:{}", connection.server().slug());
    let work = {
        let specs = Arc::clone(&specs);
        move || UpstreamToolList { problem, ..compile_tools(&specs, &raw, most, bytes, marks_count) }
    };
    specs
        .run_compile_job(&owner, work)
        .await
        .map_err(|error| UpstreamError::Malformed(format!("its tools can't be read: {error}")))
}

/// Counts the items of a list.
pub(super) async fn count_items(
    connection: &Arc<UpstreamConnection>,
    method: &'static str,
    items: &'static str,
) -> Result<usize, UpstreamError> {
    Ok(list_pages(connection, method, items).await?.items.len())
}

/// All items of a list, as raw JSON.
async fn list_pages(
    connection: &Arc<UpstreamConnection>,
    method: &'static str,
    items: &'static str,
) -> Result<ListedItems, UpstreamError> {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    let UpstreamSettings { max_pages, max_message_bytes, .. } = connection.server().deps().settings;
    let mut bytes = 0;
    for _ in 0..max_pages {
        let members = match &cursor {
            Some(cursor) => format!(r#""cursor":{}"#, serde_json::to_string(cursor).unwrap_or_default()),
            None => String::new(),
        };
        let raw = connection.request_own(method, None, &members).await?;
        bytes += raw.get().len();
        if bytes > max_message_bytes {
            return Err(UpstreamError::TooLarge(max_message_bytes));
        }
        let malformed = |error: serde_json::Error| {
            UpstreamError::Malformed(format!(
                "its answer to {method} can't be read: {}",
                shorten_error(&error)
            ))
        };
        let page: HashMap<String, &RawValue> = raw.to_borrowed().map_err(malformed)?;
        let listed: Vec<&RawValue> = match page.get(items) {
            Some(listed) => serde_json::from_str(listed.get()).map_err(malformed)?,
            None => return Err(UpstreamError::Malformed(format!("its answer to {method} has no {items}"))),
        };
        all.extend(listed.into_iter().map(|item| RawJson::from(item.to_owned())));
        let next = page.get("nextCursor").map(|next| foreign_json::from_str::<Option<String>>(next.get()));
        // An empty cursor is the end, as in the official SDKs.
        cursor = next.transpose().map_err(malformed)?.flatten().filter(|cursor| !cursor.is_empty());
        match &cursor {
            None => return Ok(ListedItems { items: all, problem: None }),
            Some(cursor) if !seen.insert(cursor.clone()) => {
                let message = format!("{method} returned the same cursor twice; the list may be incomplete");
                connection.log_anomaly(&message);
                let hint = Some("report it to the author of the server".to_owned());
                return Ok(ListedItems { items: all, problem: Some(UpstreamProblem { message, hint }) });
            }
            Some(_) => {}
        }
    }
    Err(UpstreamError::Malformed(format!("its answers to {method} have more than {max_pages} pages")))
}

fn compile_tools(
    specs: &SpecCache,
    raw: &[RawJson],
    most: usize,
    bytes: usize,
    marks_count: bool,
) -> UpstreamToolList {
    let mut listing = UpstreamToolList::default();
    let mut seen = HashSet::new();
    let mut bytes_left = bytes;
    let mut budget = CompileBudget::of_source(SchemaPatterns::default());
    for raw in raw {
        let tool = read_tool(specs, raw, marks_count, &mut budget).and_then(|(spec, params)| {
            if !seen.insert(spec.name().clone()) {
                return Err("the list has a tool of this name already".to_owned());
            }
            if listing.tools.len() == most {
                return Err(format!("a server can have at most {most} tools"));
            }
            bytes_left = bytes_left
                .checked_sub(raw.get().len())
                .ok_or_else(|| format!("the tools of a server can have at most {bytes} bytes"))?;
            Ok((spec, params))
        });
        match tool {
            Ok(tool) => listing.tools.push(tool),
            Err(reason) if listing.skipped.len() < MAX_SKIPPED => {
                listing.skipped.push(SkippedTool { name: skipped_name(raw), reason });
            }
            Err(_) => {}
        }
    }
    listing.tools.sort_by(|(one, _), (other, _)| one.name().cmp(other.name()));
    listing
}

fn read_tool(
    specs: &SpecCache,
    raw: &RawJson,
    marks_count: bool,
    budget: &mut CompileBudget,
) -> Result<(Arc<ToolSpec>, Vec<HeaderParam>), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ListedTool {
        name: String,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        input_schema: Option<RawJson>,
        #[serde(default)]
        output_schema: Option<RawJson>,
        #[serde(default)]
        annotations: Option<RawJson>,
    }
    let listed: ListedTool =
        raw.to().map_err(|error| format!("it is not a tool: {}", shorten_error(&error)))?;
    let params = match &listed.input_schema {
        Some(schema) if marks_count && schema.get().contains("x-mcp-header") => {
            param_headers::header_params(&schema.to_value())?
        }
        _ => Vec::new(),
    };
    let document = SpecDocument {
        description: listed.description,
        parameters: listed.input_schema,
        title: listed.title,
        output_schema: listed.output_schema,
        annotations: listed.annotations,
        mcp_entry: Some(raw.clone()),
        ..SpecDocument::named(listed.name)
    };
    let spec = specs.compile_within(document, budget).map_err(|bad| bad.to_string())?;
    Ok((spec, params))
}

/// The name of a skipped tool, as its server wrote it.
fn skipped_name(raw: &RawJson) -> String {
    #[derive(Deserialize)]
    struct ToolNameField {
        name: String,
    }
    let name = raw.to::<ToolNameField>().map(|named| named.name).unwrap_or_default();
    name.chars().take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests;
