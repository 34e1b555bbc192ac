//! The body of a request to the Responses API. It has no `stop` and no `seed`.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use toolway_types::RawJson;

use super::input::items;
use super::tool;
use crate::adapters::openai_common::{effort_name, output_schema};
use crate::config::{ProviderConfig, Switches};
use crate::error::{ModelError, ModelErrorKind};
use crate::request::{ModelRequest, ToolChoice};
use crate::request_body::{RequestBodyWriter, conversation_size};
use crate::tool_names;

/// Approximate size of a body without messages and tools, in bytes.
const BODY_OVERHEAD_BYTES: usize = 1024;
/// Prefixes of models that do not reason. The API refuses a request for encrypted reasoning from them.
const NON_REASONING_PREFIXES: &[&str] = &["gpt-3.5", "gpt-4", "chatgpt-4"];

/// The field `tool_choice`.
#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesToolChoice<'a> {
    Word(&'static str),
    Function { r#type: &'static str, name: Cow<'a, str> },
}

#[derive(Serialize)]
struct ResponsesTextConfig<'a> {
    format: ResponsesTextFormat<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesTextFormat<'a> {
    JsonObject,
    JsonSchema { name: Cow<'a, str>, schema: RawJson, strict: bool },
}

/// Returns the body of a request.
pub(super) fn body(config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
    let options = &request.options;
    let tools = tool::tool_list(config, request)?;
    let items = items(config, request);
    let size = BODY_OVERHEAD_BYTES
        + tools.as_ref().map_or(0, |tools| tools.get().len())
        + conversation_size(&request.messages);
    // How much it thinks is the agent's, what is told of it may be what the owner adds.
    let reasoning = options.reasoning.map(|effort| ("effort", RawJson::from(&effort_name(effort).into())));
    let mut body = RequestBodyWriter::new(&options.extra, size);
    body.field("model", &*request.model);
    if !request.system.is_empty() {
        body.field("instructions", &request.system);
    }
    body.field("input", &items);
    if let Some(tools) = &tools {
        body.field("tools", tools);
        if let Some(choice) = tool_choice(config, request)? {
            body.field("tool_choice", &choice);
        }
        body.optional_field("parallel_tool_calls", options.parallel_tool_calls.as_ref());
    }
    if let Some(output) = &request.output {
        let format = match output.accepts_any_object {
            true => ResponsesTextFormat::JsonObject,
            false => {
                let (schema, strict) = output_schema(output);
                let name = tool_names::wire_name(&output.name);
                ResponsesTextFormat::JsonSchema { name, schema, strict }
            }
        };
        body.field("text", &ResponsesTextConfig { format });
    }
    if !NON_REASONING_PREFIXES.iter().any(|start| request.model.starts_with(start)) {
        body.field("include", &["reasoning.encrypted_content"]);
    }
    body.optional_field("max_output_tokens", options.max_output_tokens.as_ref());
    body.optional_field("temperature", options.temperature.as_ref());
    body.optional_field("top_p", options.top_p.as_ref());
    body.field("store", &false);
    body.field("stream", &true);
    body.object("reasoning", reasoning.as_slice());
    body.finish(&config.name)
}

fn tool_choice<'a>(
    config: &ProviderConfig,
    request: &'a ModelRequest,
) -> Result<Option<ResponsesToolChoice<'a>>, ModelError> {
    Ok(Some(match &request.tool_choice {
        ToolChoice::Auto => return Ok(None),
        ToolChoice::None => ResponsesToolChoice::Word("none"),
        ToolChoice::Required => ResponsesToolChoice::Word("required"),
        ToolChoice::Tool(name) if is_tool_sent(&config.compatibility, request, name) => {
            ResponsesToolChoice::Function { r#type: "function", name: tool_names::wire_name(name) }
        }
        ToolChoice::Tool(name) => {
            let message = format!(
                "the tool {name:?} is required by tool_choice but is not among the tools of the request"
            );
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, config.name.clone(), message));
        }
    }))
}

/// Returns whether a tool is sent.
fn is_tool_sent(switches: &Switches, request: &ModelRequest, name: &str) -> bool {
    request.tools.get(name).is_some_and(|tool| tool::convert(switches, tool).is_ok())
}
