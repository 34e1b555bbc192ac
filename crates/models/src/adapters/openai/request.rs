//! The body of a request to Chat Completions.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::json;
use toolway_types::RawJson;

use super::history::messages;
use super::tool;
use crate::adapters::openai_common::{effort_name, output_schema};
use crate::config::{
    MaxTokensField, ProviderConfig, ReasoningRequest, SeedField, StructuredOutputMode, Switches,
    ToolChoiceSupport,
};
use crate::error::{ModelError, ModelErrorKind};
use crate::request::{ModelRequest, OutputSchema, ReasoningEffort, ToolChoice};
use crate::request_body::{RequestBodyWriter, conversation_size};
use crate::tool_names;

/// Approximate size of a body without messages and tools, in bytes.
const BODY_OVERHEAD_BYTES: usize = 1024;

/// Returns the body of a request.
pub(super) fn body(config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
    let (switches, options) = (&config.compatibility, &request.options);
    let tools = tool::tool_list(config, request)?;
    let messages = messages(config, request);
    let size = BODY_OVERHEAD_BYTES
        + tools.as_ref().map_or(0, |tools| tools.get().len())
        + conversation_size(&request.messages);
    let mut body = RequestBodyWriter::new(&options.extra, size);
    body.field("model", &*request.model);
    body.field("messages", &messages);
    if let Some(tools) = &tools {
        body.field("tools", tools);
        if let Some(choice) = tool_choice(config, request)? {
            body.field("tool_choice", &choice);
        }
        if switches.parallel_tool_calls {
            body.optional_field("parallel_tool_calls", options.parallel_tool_calls.as_ref());
        }
    }
    if let Some(output) = &request.output
        && let Some(format) = response_format(switches, output)
    {
        body.field("response_format", &format);
    }
    let is_forced =
        tools.is_some() && matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
    write_reasoning(&mut body, switches.reasoning, options.reasoning, is_forced);
    let max_tokens = match switches.max_tokens {
        MaxTokensField::MaxTokens => "max_tokens",
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
    };
    body.optional_field(max_tokens, options.max_output_tokens.as_ref());
    body.optional_field("temperature", options.temperature.as_ref());
    body.optional_field("top_p", options.top_p.as_ref());
    if !options.stop.is_empty() {
        body.field("stop", &options.stop);
    }
    match switches.seed {
        SeedField::Seed => body.optional_field("seed", options.seed.as_ref()),
        SeedField::RandomSeed => body.optional_field("random_seed", options.seed.as_ref()),
        SeedField::None => {}
    }
    body.field("stream", &true);
    if switches.stream_usage {
        body.field("stream_options", &json!({"include_usage": true}));
    }
    body.finish(&config.name)
}

/// The field `tool_choice`.
enum ChatToolChoice<'a> {
    Mode(&'static str),
    Function(Cow<'a, str>),
}

impl Serialize for ChatToolChoice<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Mode(word) => serializer.serialize_str(word),
            Self::Function(name) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "function")?;
                map.serialize_entry("function", &json!({ "name": name }))?;
                map.end()
            }
        }
    }
}

fn tool_choice<'a>(
    config: &ProviderConfig,
    request: &'a ModelRequest,
) -> Result<Option<ChatToolChoice<'a>>, ModelError> {
    if let ToolChoice::Tool(name) = &request.tool_choice
        && !is_tool_sent(&config.compatibility, request, name)
    {
        let message =
            format!("the tool {name:?} is required by tool_choice but is not among the tools of the request");
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, config.name.clone(), message));
    }
    Ok(match (&request.tool_choice, config.compatibility.tool_choice) {
        (ToolChoice::Auto, _) | (_, ToolChoiceSupport::None) => None,
        (ToolChoice::None, _) => Some(ChatToolChoice::Mode("none")),
        (ToolChoice::Required, _) | (ToolChoice::Tool(_), ToolChoiceSupport::StringOnly) => {
            Some(ChatToolChoice::Mode("required"))
        }
        (ToolChoice::Tool(name), ToolChoiceSupport::Full) => {
            Some(ChatToolChoice::Function(tool_names::wire_name(name)))
        }
    })
}

/// Returns whether a tool is sent.
fn is_tool_sent(switches: &Switches, request: &ModelRequest, name: &str) -> bool {
    request.tools.get(name).is_some_and(|tool| tool::convert(switches, tool).is_ok())
}

/// The field `response_format`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatResponseFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: ChatJsonSchema<'a> },
}

#[derive(Serialize)]
struct ChatJsonSchema<'a> {
    name: Cow<'a, str>,
    schema: RawJson,
    strict: bool,
}

fn response_format<'a>(switches: &Switches, output: &'a OutputSchema) -> Option<ChatResponseFormat<'a>> {
    match switches.structured_output {
        StructuredOutputMode::Instructions => None,
        StructuredOutputMode::JsonObject => Some(ChatResponseFormat::JsonObject),
        StructuredOutputMode::JsonSchema if output.accepts_any_object => Some(ChatResponseFormat::JsonObject),
        StructuredOutputMode::JsonSchema => {
            let (schema, strict) = output_schema(output);
            let name = tool_names::wire_name(&output.name);
            Some(ChatResponseFormat::JsonSchema { json_schema: ChatJsonSchema { name, schema, strict } })
        }
    }
}

fn write_reasoning(
    body: &mut RequestBodyWriter<'_>,
    form: ReasoningRequest,
    effort: Option<ReasoningEffort>,
    is_forced: bool,
) {
    // DeepSeek thinks unless told otherwise, and refuses to be told which tool to call while it does.
    let effort = match form {
        ReasoningRequest::Thinking if is_forced => Some(ReasoningEffort::None),
        _ => effort,
    };
    let Some(effort) = effort else { return };
    let word = effort_name(effort);
    match form {
        ReasoningRequest::None => {}
        ReasoningRequest::Effort => body.field("reasoning_effort", word),
        ReasoningRequest::Object => body.field("reasoning", &json!({ "effort": word })),
        ReasoningRequest::Thinking if effort == ReasoningEffort::None => {
            body.field("thinking", &json!({"type": "disabled"}));
        }
        ReasoningRequest::Thinking => {
            body.field("thinking", &json!({"type": "enabled"}));
            body.field("reasoning_effort", word);
        }
    }
}
