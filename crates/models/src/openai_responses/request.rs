//! The body of a request to the Responses API. It has no `stop` and no `seed`.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use toolway_types::RawJson;

use super::input::items;
use super::tool;
use crate::body::{BodyWriter, conversation_size};
use crate::config::{ProviderConfig, Switches};
use crate::error::{ModelError, ModelErrorKind};
use crate::names;
use crate::openai::{output_form, word};
use crate::request::{ModelRequest, ToolChoice};

/// What a body takes besides messages and tools, roughly, in bytes.
const ROOM: usize = 1024;
/// How the ids of models begin that do not think, and for which asking for encrypted thinking is refused.
const WITHOUT_THOUGHT: &[&str] = &["gpt-3.5", "gpt-4", "chatgpt-4"];

/// A choice of tools.
#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Function { r#type: &'static str, name: Cow<'a, str> },
}

#[derive(Serialize)]
struct Text<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    schema: RawJson,
    strict: bool,
}

/// The body.
pub(super) fn body(config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
    let options = &request.options;
    let tools = tool::list(config, request)?;
    let items = items(config, request);
    let size =
        ROOM + tools.as_ref().map_or(0, |tools| tools.get().len()) + conversation_size(&request.messages);
    // How much it thinks is the agent's, what is told of it may be what the owner adds.
    let reasoning = options.reasoning.map(|effort| ("effort", RawJson::from(&word(effort).into())));
    let mut body = BodyWriter::new(&options.extra, size);
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
        body.some("parallel_tool_calls", options.parallel_tool_calls.as_ref());
    }
    if let Some(output) = &request.output {
        let (schema, strict) = output_form(output);
        let name = names::sent(&output.name);
        body.field("text", &Text { format: Format { r#type: "json_schema", name, schema, strict } });
    }
    if !WITHOUT_THOUGHT.iter().any(|start| request.model.starts_with(start)) {
        body.field("include", &["reasoning.encrypted_content"]);
    }
    body.some("max_output_tokens", options.max_output_tokens.as_ref());
    body.some("temperature", options.temperature.as_ref());
    body.some("top_p", options.top_p.as_ref());
    body.field("store", &false);
    body.field("stream", &true);
    body.object("reasoning", reasoning.as_slice());
    body.finish(&config.name)
}

fn tool_choice<'a>(
    config: &ProviderConfig,
    request: &'a ModelRequest,
) -> Result<Option<Choice<'a>>, ModelError> {
    Ok(Some(match &request.tool_choice {
        ToolChoice::Auto => return Ok(None),
        ToolChoice::None => Choice::Word("none"),
        ToolChoice::Required => Choice::Word("required"),
        ToolChoice::Tool(name) if is_sent(&config.switches, request, name) => {
            Choice::Function { r#type: "function", name: names::sent(name) }
        }
        ToolChoice::Tool(name) => {
            let message = format!("the tool {name:?} is to be called, but is not among those of the request");
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, config.name.clone(), message));
        }
    }))
}

/// Whether a tool is among those that are sent.
fn is_sent(switches: &Switches, request: &ModelRequest, name: &str) -> bool {
    request.tools.get(name).is_some_and(|tool| tool::convert(switches, tool).is_ok())
}
