//! A tool of an MCP server for the engine.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_types::text::shorten_error;
use toolway_types::{Code, ContentPart, OriginalError, RawJson, ToolError, ToolOutput, foreign_json};

use super::call::{UpstreamRequest, call_upstream};
use super::error::UpstreamError;
use super::server::Upstream;
use super::task_requirement::TaskRequirement;
use crate::client_link::ClientLink;
use crate::param_headers::{HeaderParam, argument_headers};
use crate::protocol_era::ProtocolEra;

/// A tool of an MCP server.
pub(super) struct UpstreamTool {
    spec: Arc<ToolSpec>,
    /// The name as JSON.
    name: String,
    params: Vec<HeaderParam>,
    task: TaskRequirement,
    upstream: Arc<Upstream>,
}

impl UpstreamTool {
    pub(super) fn new(spec: Arc<ToolSpec>, params: Vec<HeaderParam>, upstream: Arc<Upstream>) -> Self {
        let name = serde_json::to_string(spec.name()).unwrap_or_default();
        let task = TaskRequirement::of_listed_tool(spec.document().mcp_entry.as_ref());
        Self { spec, name, params, task, upstream }
    }
}

#[async_trait]
impl Tool for UpstreamTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, context: &CallContext) -> Result<ToolOutput, ToolError> {
        let given = arguments.raw().get();
        let request = UpstreamRequest {
            method: "tools/call",
            name: self.spec.name().as_str(),
            members: [r#""name":"#, &self.name, r#","arguments":"#, given].concat(),
            headers: argument_headers(&self.params, arguments.value()),
            task: Some(&self.task),
        };
        let client = ClientLink::of(context);
        let server = self.upstream.slug().as_str();
        let era = client.as_ref().map_or(ProtocolEra::Stateless, |client| {
            ProtocolEra::for_client(&client.protocol_version(), client.capabilities())
        });
        let raw = call_upstream(&self.upstream, era, request, client.as_ref(), Some(context)).await;
        let raw = raw.map_err(|no_result| no_result.into_tool_error(server))?;
        parse_result(raw).map_err(|error| {
            let error = shorten_error(&error);
            UpstreamError::Malformed(format!("its result can't be read: {error}")).into_tool_error(server)
        })?
    }

    fn can_run_inline(&self) -> bool {
        true
    }

    fn marks_dispatch(&self) -> bool {
        true
    }
}

/// Parses a result into the tool's output or error, and keeps its text as the original of either.
fn parse_result(raw: RawJson) -> Result<Result<ToolOutput, ToolError>, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CallToolResultBody<'a> {
        #[serde(borrow, default)]
        content: Option<Vec<&'a RawValue>>,
        #[serde(borrow, default)]
        structured_content: Option<&'a RawValue>,
        #[serde(default)]
        is_error: Option<bool>,
    }
    let given: CallToolResultBody<'_> = raw.to_borrowed()?;
    let content = given.content.unwrap_or_default().into_iter().map(parse_content_part).collect();
    let structured = given.structured_content.map(|raw| RawJson::from(raw.to_owned()));
    let failed = given.is_error == Some(true);
    let output = ToolOutput::new(content, structured);
    if !failed {
        return Ok(Ok(ToolOutput { original: Some(raw), ..output }));
    }
    let text = match (output.joined_text(), &output.structured) {
        (text, Some(structured)) if text.trim().is_empty() => structured.get().to_owned(),
        (text, _) => text,
    };
    let text = if text.trim().is_empty() { "The tool failed without saying why".to_owned() } else { text };
    let error = ToolError::new(Code::ToolFailed, text).with_dispatched(true);
    Ok(Err(error.with_original(OriginalError::Result(raw))))
}

/// Parses a content part. An unknown type becomes text.
fn parse_content_part(raw: &RawValue) -> ContentPart {
    #[derive(Deserialize)]
    struct TextContent {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        text: Option<String>,
    }
    if let Ok(TextContent { kind, text: Some(text) }) = foreign_json::from_str::<TextContent>(raw.get())
        && kind == "text"
    {
        return ContentPart::Text { text };
    }
    foreign_json::from_str(raw.get()).unwrap_or_else(|_| ContentPart::text(raw.get()))
}

#[cfg(test)]
mod tests;
