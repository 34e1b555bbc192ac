//! Parses a chat completion request. Fields without meaning here are ignored, as OpenAI does; unsupported
//! fields that would change the answer are refused.

use serde::Deserialize;
use toolway_models::{ModelMessage, ModelOptions, OutputSchema, ReasoningEffort, ToolChoice, ToolDefinition};
use toolway_types::RawJson;

use super::error::OpenAiApiError;
use super::history::{self, ChatCompletionMessageParam};
use crate::http::extractors::parse_json;

/// Maximum number of the caller's tools.
const MAX_TOOLS: usize = 128;
/// Maximum number of stop sequences.
const MAX_STOPS: usize = 4;

/// A parsed request.
#[derive(Debug)]
pub(super) struct ParsedCompletionRequest {
    /// Name of the agent, as the caller wrote it.
    pub(super) model: String,
    /// True for a streamed answer.
    pub(super) stream: bool,
    /// True if the stream ends with the token usage.
    pub(super) include_usage: bool,
    pub(super) system: Vec<String>,
    pub(super) messages: Vec<ModelMessage>,
    pub(super) client_tools: Vec<ToolDefinition>,
    pub(super) tool_choice: ToolChoice,
    pub(super) output: Option<OutputSchema>,
    pub(super) options: ModelOptions,
}

#[derive(Debug, Deserialize)]
struct ChatCompletionRequest {
    model: String,
    messages: Vec<ChatCompletionMessageParam>,
    stream: Option<bool>,
    stream_options: Option<StreamOptionsParam>,
    n: Option<f64>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    stop: Option<RawJson>,
    seed: Option<i64>,
    reasoning_effort: Option<String>,
    tools: Option<Vec<ChatCompletionTool>>,
    tool_choice: Option<RawJson>,
    parallel_tool_calls: Option<bool>,
    response_format: Option<ResponseFormatParam>,
    functions: Option<RawJson>,
    function_call: Option<RawJson>,
    audio: Option<RawJson>,
}

#[derive(Debug, Deserialize)]
struct StreamOptionsParam {
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct ChatCompletionTool {
    #[serde(rename = "type")]
    kind: String,
    function: Option<FunctionDefinitionParam>,
}

#[derive(Debug, Deserialize)]
struct FunctionDefinitionParam {
    name: String,
    description: Option<String>,
    parameters: Option<RawJson>,
    strict: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct ResponseFormatParam {
    #[serde(rename = "type")]
    kind: String,
    json_schema: Option<JsonSchemaParam>,
}

#[derive(Debug, Deserialize)]
struct JsonSchemaParam {
    name: String,
    schema: Option<RawJson>,
}

/// Parses a request. Checks images, so it may take some milliseconds.
///
/// # Errors
/// The field that is invalid or not supported.
pub(super) fn read(bytes: &[u8]) -> Result<ParsedCompletionRequest, OpenAiApiError> {
    let body: ChatCompletionRequest = parse_json(bytes)?;
    if body.n.is_some_and(|n| (n - 1.0).abs() > f64::EPSILON) {
        return Err(OpenAiApiError::unsupported("n", "an agent gives one answer; omit n, or set it to 1"));
    }
    for (name, given) in [("functions", &body.functions), ("function_call", &body.function_call)] {
        if given.is_some() {
            return Err(OpenAiApiError::unsupported(name, format!("{name} is not supported; use tools")));
        }
    }
    if body.audio.is_some() {
        return Err(OpenAiApiError::unsupported("audio", "agents answer only in text"));
    }
    for (name, given, most) in [("temperature", body.temperature, 2.0), ("top_p", body.top_p, 1.0)] {
        if given.is_some_and(|number| !(0.0..=most).contains(&number)) {
            return Err(OpenAiApiError::invalid(name, format!("{name} must be from 0 to {most}")));
        }
    }
    let client_tools = parse_tools(body.tools.unwrap_or_default())?;
    let tool_choice =
        body.tool_choice.as_ref().map(|choice| parse_tool_choice(choice, &client_tools)).transpose()?;
    let (system, messages) = history::read_messages(body.messages)?;
    Ok(ParsedCompletionRequest {
        model: body.model,
        stream: body.stream.unwrap_or_default(),
        include_usage: body.stream_options.and_then(|it| it.include_usage).unwrap_or_default(),
        system,
        messages,
        client_tools,
        tool_choice: tool_choice.unwrap_or_default(),
        output: body.response_format.map(parse_response_format).transpose()?.flatten(),
        options: ModelOptions {
            max_output_tokens: body.max_completion_tokens.or(body.max_tokens),
            temperature: body.temperature,
            top_p: body.top_p,
            stop: body.stop.as_ref().map(parse_stop).transpose()?.unwrap_or_default(),
            seed: body.seed,
            reasoning: body.reasoning_effort.as_deref().map(parse_effort).transpose()?,
            parallel_tool_calls: body.parallel_tool_calls,
            ..ModelOptions::default()
        },
    })
}

fn parse_tools(given: Vec<ChatCompletionTool>) -> Result<Vec<ToolDefinition>, OpenAiApiError> {
    if given.len() > MAX_TOOLS {
        let words = format!("there are {} tools; the maximum is {MAX_TOOLS}", given.len());
        return Err(OpenAiApiError::invalid("tools", words));
    }
    let mut tools: Vec<ToolDefinition> = Vec::with_capacity(given.len());
    for (at, ChatCompletionTool { kind, function }) in given.into_iter().enumerate() {
        let place = format!("tools[{at}]");
        let function = match (kind.as_str(), function) {
            ("function", Some(function)) => function,
            ("function", None) => return Err(OpenAiApiError::invalid(place, "function is missing")),
            _ => {
                let words = format!("tools of the type {kind:?} are not supported; use the type function");
                return Err(OpenAiApiError::unsupported(format!("{place}.type"), words));
            }
        };
        let FunctionDefinitionParam { name, description, parameters, strict } = function;
        if !is_function_name(&name) {
            let words = format!("{name:?} is not a valid tool name: use 1 to 64 of a-z, A-Z, 0-9, _ and -");
            return Err(OpenAiApiError::invalid(format!("{place}.function.name"), words));
        }
        if tools.iter().any(|known| known.name == name) {
            let words = format!("there are two tools named {name:?}");
            return Err(OpenAiApiError::invalid(format!("{place}.function.name"), words));
        }
        if parameters.as_ref().is_some_and(|schema| !schema.get().starts_with('{')) {
            let words = "parameters must be a JSON Schema object";
            return Err(OpenAiApiError::invalid(format!("{place}.function.parameters"), words));
        }
        let tool = ToolDefinition::new(name, description.unwrap_or_default(), parameters);
        tools.push(tool.strict(strict.unwrap_or_default()));
    }
    Ok(tools)
}

fn is_function_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn parse_tool_choice(choice: &RawJson, tools: &[ToolDefinition]) -> Result<ToolChoice, OpenAiApiError> {
    #[derive(Deserialize)]
    struct NamedToolChoice {
        function: Option<NamedFunction>,
    }
    #[derive(Deserialize)]
    struct NamedFunction {
        name: String,
    }
    let place = "tool_choice";
    if let Ok(word) = choice.to::<String>() {
        return match word.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            _ => Err(OpenAiApiError::invalid(place, format!("{word:?} must be auto, none or required"))),
        };
    }
    match choice.to::<NamedToolChoice>() {
        Ok(NamedToolChoice { function: Some(NamedFunction { name }) })
            if tools.iter().any(|tool| tool.name == name) =>
        {
            Ok(ToolChoice::Tool(name))
        }
        Ok(NamedToolChoice { function: Some(NamedFunction { name }) }) => {
            Err(OpenAiApiError::invalid(place, format!("{name:?} is not a tool of the request")))
        }
        _ => {
            let words = "only auto, none, required and {\"type\":\"function\",\"function\":{\"name\":…}} are supported";
            Err(OpenAiApiError::unsupported(place, words))
        }
    }
}

fn parse_response_format(format: ResponseFormatParam) -> Result<Option<OutputSchema>, OpenAiApiError> {
    let place = "response_format";
    match (format.kind.as_str(), format.json_schema) {
        ("text", _) => Ok(None),
        ("json_object", _) => Ok(Some(OutputSchema::any_object())),
        ("json_schema", Some(JsonSchemaParam { name, schema })) => match schema {
            Some(schema) if schema.get().starts_with('{') => Ok(Some(OutputSchema::new(name, schema))),
            _ => Err(OpenAiApiError::invalid(
                format!("{place}.json_schema.schema"),
                "a JSON Schema is required",
            )),
        },
        ("json_schema", None) => {
            Err(OpenAiApiError::invalid(format!("{place}.json_schema"), "it is missing"))
        }
        (other, _) => {
            let words = format!("{other:?} must be text, json_object or json_schema");
            Err(OpenAiApiError::unsupported(format!("{place}.type"), words))
        }
    }
}

fn parse_stop(stop: &RawJson) -> Result<Vec<String>, OpenAiApiError> {
    let stops = match stop.to::<String>() {
        Ok(one) => vec![one],
        Err(_) => stop
            .to::<Vec<String>>()
            .map_err(|_| OpenAiApiError::invalid("stop", "must be a string or a list of strings"))?,
    };
    if stops.len() > MAX_STOPS || stops.iter().any(String::is_empty) {
        let words = format!("send at most {MAX_STOPS} strings, none of them empty");
        return Err(OpenAiApiError::invalid("stop", words));
    }
    Ok(stops)
}

fn parse_effort(word: &str) -> Result<ReasoningEffort, OpenAiApiError> {
    match word {
        "none" => Ok(ReasoningEffort::None),
        "minimal" | "low" => Ok(ReasoningEffort::Low),
        "medium" => Ok(ReasoningEffort::Medium),
        "high" | "xhigh" => Ok(ReasoningEffort::High),
        _ => {
            let words = format!("{word:?} must be none, minimal, low, medium, high or xhigh");
            Err(OpenAiApiError::invalid("reasoning_effort", words))
        }
    }
}

#[cfg(test)]
mod tests;
