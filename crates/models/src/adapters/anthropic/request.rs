//! The body of a request to Messages.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use toolway_types::RawJson;

use super::capabilities;
use super::content_block::{CacheBreakpoint, CacheableBlock, ContentBlockParam};
use super::history;
use super::output::OutputConstraint;
use super::thinking::{self, ThinkingParams};
use super::{MAX_TOOLS, tool};
use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::request::{ModelRequest, ToolChoice};
use crate::request_body::{RequestBodyWriter, check_tool_count, conversation_size};
use crate::tool_names;
use crate::tools::ConvertedTools;

/// Approximate size of a body without messages and tools, in bytes.
const BODY_OVERHEAD_BYTES: usize = 1024;
/// Name of a tool that is sent if the conversation contains calls but no tool is offered. Without any tool the API
/// refuses such a conversation.
const PLACEHOLDER_TOOL: &str = "no_longer_available";

/// Returns the body of a request.
pub(super) fn body(config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
    let output = OutputConstraint::for_request(request);
    let converted = tool::convert_tools(request);
    check_tool_count(&config.name, converted.len(), MAX_TOOLS)?;
    let thinking = thinking::for_request(config, request, &output);
    let messages = history::messages(config, request, &converted);
    if messages.is_empty() {
        let message = "there is nothing in the conversation that could be sent";
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message));
    }
    let tools = tool_list(request, &converted, &output);
    let choice = tool_choice(config, request, &converted, &output)?;
    let size = BODY_OVERHEAD_BYTES
        + converted.json.get().len()
        + request.system.len()
        + conversation_size(&request.messages);
    let mut body = RequestBodyWriter::new(&request.options.extra, size);
    body.field("model", &*request.model);
    body.field("max_tokens", &thinking.max_tokens);
    if let Some(tools) = &tools {
        body.field("tools", tools);
        body.optional_field("tool_choice", choice.as_ref());
    }
    let system = system_blocks(request, &output, choice.as_ref());
    if !system.is_empty() {
        body.field("system", &system);
    }
    body.field("messages", &messages);
    body.optional_field("thinking", thinking.thinking.as_ref());
    write_sampling(&mut body, request, &thinking);
    let stop: Vec<_> = request.options.stop.iter().filter(|stop| !stop.trim().is_empty()).collect();
    if !stop.is_empty() {
        body.field("stop_sequences", &stop);
    }
    body.object("output_config", &output_config(&thinking, &output));
    body.field("stream", &true);
    body.finish(&config.name)
}

fn output_config(thinking: &ThinkingParams, output: &OutputConstraint) -> Vec<(&'static str, RawJson)> {
    #[derive(Serialize)]
    struct JsonSchemaOutputFormat<'a> {
        r#type: &'static str,
        schema: &'a RawJson,
    }
    let effort = thinking.effort.map(|effort| ("effort", RawJson::from(&json!(effort))));
    let format = match output {
        OutputConstraint::Format(schema) => {
            RawJson::from_value(&JsonSchemaOutputFormat { r#type: "json_schema", schema }).ok()
        }
        _ => None,
    };
    effort.into_iter().chain(format.map(|format| ("format", format))).collect()
}

/// Returns the list of tools; `None` if no tool is sent.
fn tool_list(
    request: &ModelRequest,
    converted: &ConvertedTools,
    output: &OutputConstraint,
) -> Option<RawJson> {
    let answer = match output {
        OutputConstraint::Tool { name, schema, .. } => {
            Some(tool::definition_json(name, "Give the whole answer with this tool.", schema))
        }
        _ => None,
    };
    match (converted.is_empty(), answer) {
        (false, None) => Some(converted.json.clone()),
        (true, Some(answer)) => RawJson::from_value(&[answer]).ok(),
        (false, Some(answer)) => {
            let mut all: Vec<RawJson> = converted.json.to().unwrap_or_default();
            all.push(answer);
            RawJson::from_value(&all).ok()
        }
        (true, None) if history::has_calls(&request.messages) => {
            let schema = RawJson::from(&json!({"type": "object", "properties": {}}));
            let absent = tool::definition_json(
                PLACEHOLDER_TOOL,
                "The tools of this conversation can't be used now.",
                &schema,
            );
            RawJson::from_value(&[absent]).ok()
        }
        (true, None) => None,
    }
}

/// The field `tool_choice`.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum AnthropicToolChoice<'a> {
    Auto(ParallelToolUse),
    Any(ParallelToolUse),
    Tool {
        name: Cow<'a, str>,
        #[serde(flatten)]
        parallel: ParallelToolUse,
    },
    None,
    /// Instructions, for a model that supports nothing stricter.
    #[serde(rename = "auto")]
    Wish {
        #[serde(skip)]
        words: String,
        #[serde(flatten)]
        parallel: ParallelToolUse,
    },
}

#[derive(Debug, Clone, Copy, Serialize)]
struct ParallelToolUse {
    #[serde(rename = "disable_parallel_tool_use", skip_serializing_if = "std::ops::Not::not")]
    is_off: bool,
}

fn tool_choice<'a>(
    config: &ProviderConfig,
    request: &'a ModelRequest,
    converted: &ConvertedTools,
    output: &OutputConstraint,
) -> Result<Option<AnthropicToolChoice<'a>>, ModelError> {
    let parallel = ParallelToolUse { is_off: request.options.parallel_tool_calls == Some(false) };
    if let ToolChoice::Tool(name) = &request.tool_choice
        && !converted.has_tool(name)
    {
        let message =
            format!("the tool {name:?} is required by tool_choice but is not among the tools of the request");
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message));
    }
    let can_force = capabilities::for_model(&request.model).takes_forced_tool_choice;
    Ok(match (&request.tool_choice, output) {
        (ToolChoice::Tool(name), _) if can_force => {
            Some(AnthropicToolChoice::Tool { name: tool_names::wire_name(name), parallel })
        }
        (ToolChoice::Tool(name), _) => {
            let words = format!("Answer by calling the tool {}.", tool_names::wire_name(name));
            Some(AnthropicToolChoice::Wish { words, parallel })
        }
        (_, OutputConstraint::Tool { alongside_tools: true, .. }) => Some(AnthropicToolChoice::Any(parallel)),
        (_, OutputConstraint::Tool { name, .. }) => Some(AnthropicToolChoice::Tool {
            name: Cow::Owned(name.clone()),
            parallel: ParallelToolUse { is_off: false },
        }),
        (_, _) if converted.is_empty() => Some(AnthropicToolChoice::None),
        (ToolChoice::None, _) => Some(AnthropicToolChoice::None),
        (ToolChoice::Required, _) if can_force => Some(AnthropicToolChoice::Any(parallel)),
        (ToolChoice::Required, _) => {
            Some(AnthropicToolChoice::Wish { words: "Answer by calling a tool.".to_owned(), parallel })
        }
        (ToolChoice::Auto, _) if parallel.is_off => Some(AnthropicToolChoice::Auto(parallel)),
        (ToolChoice::Auto, _) => None,
    })
}

/// Returns the instructions. Text that changes between requests comes after the cached text.
fn system_blocks<'a>(
    request: &'a ModelRequest,
    output: &'a OutputConstraint,
    choice: Option<&'a AnthropicToolChoice<'a>>,
) -> Vec<CacheableBlock<'a>> {
    let mut blocks: Vec<CacheableBlock<'a>> = Vec::new();
    if !request.system.trim().is_empty() {
        blocks.push(CacheableBlock {
            block: ContentBlockParam::text(request.system.as_str()),
            mark: CacheBreakpoint(true),
        });
    }
    if let OutputConstraint::Instructions(words) = output {
        blocks.push(ContentBlockParam::text(words.as_str()).into());
    }
    if let Some(AnthropicToolChoice::Wish { words, .. }) = choice {
        blocks.push(ContentBlockParam::text(words.as_str()).into());
    }
    blocks
}

/// Writes `temperature` and `top_p` if the model accepts them.
fn write_sampling(body: &mut RequestBodyWriter<'_>, request: &ModelRequest, thinking: &ThinkingParams) {
    let generation = capabilities::for_model(&request.model);
    if !generation.takes_sampling || thinking.is_enabled {
        return;
    }
    let options = &request.options;
    body.optional_field("temperature", options.temperature.map(|temperature| temperature.min(1.0)).as_ref());
    if options.temperature.is_none() || !generation.takes_one_sampling_option {
        body.optional_field("top_p", options.top_p.as_ref());
    }
}
