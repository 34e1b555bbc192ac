//! The body of a request to Gemini.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use toolway_types::RawJson;

use super::part::GeminiPart;
use super::{MAX_TOOLS, generation, history, tool};
use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::request::{ModelRequest, OutputSchema, ToolChoice};
use crate::request_body::{RequestBodyWriter, check_tool_count, conversation_size};
use crate::schema::{self, SchemaTarget};
use crate::tool_names;
use crate::tools::ConvertedTools;

/// Approximate size of a body without contents and tools, in bytes.
const BODY_OVERHEAD_BYTES: usize = 1024;
/// Maximum number of stop sequences.
const MAX_STOP_SEQUENCES: usize = 5;

/// Returns the body of a request.
pub(super) fn body(config: &ProviderConfig, request: &ModelRequest) -> Result<Bytes, ModelError> {
    let tools = tool::convert_tools(request);
    check_tool_count(&config.name, tools.len(), MAX_TOOLS)?;
    let contents = history::contents(config, request, &tools);
    if contents.is_empty() {
        let message = "there is nothing in the conversation that could be sent";
        return Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message));
    }
    let choice = tool_choice(config, request, &tools)?;
    let words = output_instructions(request);
    let says_output = words.is_none();
    let size = BODY_OVERHEAD_BYTES
        + tools.json.get().len()
        + request.system.len()
        + conversation_size(&request.messages);
    let mut body = RequestBodyWriter::new(&request.options.extra, size);
    if !request.system.is_empty() || words.is_some() {
        let system = (!request.system.is_empty()).then(|| GeminiPart::text(request.system.as_str()));
        let parts = system.into_iter().chain(words.map(GeminiPart::text)).collect();
        body.field("systemInstruction", &SystemInstruction { parts });
    }
    if !tools.is_empty() {
        body.field("tools", &[FunctionDeclarations { function_declarations: &tools.json }]);
        body.optional_field("toolConfig", choice.as_ref());
    }
    body.field("contents", &contents);
    body.object("generationConfig", &generation_config(request, says_output));
    body.finish(&config.name)
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclarations<'a> {
    function_declarations: &'a RawJson,
}

/// The field `toolConfig`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiToolConfig<'a> {
    function_calling_config: FunctionCallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[Cow<'a, str>; 1]>,
}

fn tool_choice<'a>(
    config: &ProviderConfig,
    request: &'a ModelRequest,
    tools: &ConvertedTools,
) -> Result<Option<GeminiToolConfig<'a>>, ModelError> {
    let (mode, allowed_function_names) = match &request.tool_choice {
        ToolChoice::Auto => return Ok(None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Tool(name) if tools.has_tool(name) => ("ANY", Some([tool_names::wire_name(name)])),
        ToolChoice::Tool(name) => {
            let message = format!(
                "the tool {name:?} is required by tool_choice but is not among the tools of the request"
            );
            return Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message));
        }
    };
    Ok(Some(GeminiToolConfig {
        function_calling_config: FunctionCallingConfig { mode, allowed_function_names },
    }))
}

/// Returns the response schema as instructions, if the model does not accept a schema beside tools.
fn output_instructions(request: &ModelRequest) -> Option<String> {
    let output = request.output.as_ref()?;
    let takes_schema = request.tools.is_empty()
        || request.tool_choice == ToolChoice::None
        || generation::for_model(&request.model).takes_schema_beside_tools();
    let has_field = takes_schema && (output.accepts_any_object || output_schema(output).is_some());
    (!has_field).then(|| output.instructions())
}

fn output_schema(output: &OutputSchema) -> Option<RawJson> {
    schema::convert_output_schema(&output.schema, SchemaTarget::Gemini).ok()?.schema
}

fn generation_config(request: &ModelRequest, says_output: bool) -> Vec<(&'static str, RawJson)> {
    let options = &request.options;
    let mut fields = Vec::new();
    let mut put = |name: &'static str, value: Option<Value>| {
        fields.extend(value.map(|value| (name, RawJson::from(&value))));
    };
    put("maxOutputTokens", options.max_output_tokens.map(Value::from));
    put("temperature", options.temperature.map(Value::from));
    put("topP", options.top_p.map(Value::from));
    let stops: Vec<_> =
        options.stop.iter().filter(|stop| !stop.is_empty()).take(MAX_STOP_SEQUENCES).collect();
    put("stopSequences", (!stops.is_empty()).then(|| json!(stops)));
    // 32 bits there.
    put("seed", options.seed.and_then(|seed| i32::try_from(seed).ok()).map(Value::from));
    put("thinkingConfig", generation::for_model(&request.model).thinking_config(options.reasoning));
    if says_output && let Some(output) = &request.output {
        let schema = if output.accepts_any_object { None } else { output_schema(output) };
        if output.accepts_any_object || schema.is_some() {
            fields.push(("responseMimeType", RawJson::from(&json!("application/json"))));
        }
        fields.extend(schema.map(|schema| ("responseJsonSchema", schema)));
    }
    fields
}
