//! What OpenAI's Chat Completions refuse.

use serde_json::Value;

use super::fields::{fields, is_name, list, text, unknown};
use super::schema;
use crate::error::ApiError;
use crate::script::Model;

const BODY: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

const ROLES: &[&str] = &["system", "assistant", "user", "function", "tool", "developer"];

/// Most tools in one request, in both of OpenAI's APIs.
const TOOLS: usize = 128;
const NAME_CHARS: usize = 64;

type Checked = Result<(), ApiError>;

pub(super) fn check(body: &Value, model: &Model) -> Checked {
    if let Some(name) = unknown(body, BODY) {
        return Err(ApiError::invalid(format!("Unrecognized request argument supplied: {name}")));
    }
    sampling(body, model, "max_tokens")?;
    if body.get("stream_options").is_some_and(Value::is_object) && body.get("stream") != Some(&true.into()) {
        return Err(ApiError::invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .param("stream_options"));
    }
    tools(body)?;
    if let Some(format) = body.get("response_format") {
        response_format(format)?;
    }
    messages(list(body, "messages"))
}

/// What models that think do not take, and what none takes.
pub(super) fn sampling(body: &Value, model: &Model, tokens: &str) -> Checked {
    let unsupported = |name: &str, instead: &str| {
        let message = format!("Unsupported parameter: '{name}' is not supported with this model.{instead}");
        Err(ApiError::invalid(message).param(name).code("unsupported_parameter"))
    };
    if model.thinks {
        if tokens == "max_tokens" && body.get("max_tokens").is_some_and(|value| !value.is_null()) {
            return unsupported("max_tokens", " Use 'max_completion_tokens' instead.");
        }
        for name in ["temperature", "top_p"] {
            if body.get(name).is_some_and(|value| value.as_f64() != Some(1.0) && !value.is_null()) {
                return unsupported(name, "");
            }
        }
        if body.get("stop").is_some_and(|value| !value.is_null()) {
            return unsupported("stop", "");
        }
    } else {
        for name in ["reasoning_effort", "reasoning"] {
            if body.get(name).is_some_and(|value| !value.is_null()) {
                return unsupported(name, "");
            }
        }
    }
    if let Some(temperature) = body.get("temperature").and_then(Value::as_f64)
        && !(0.0..=2.0).contains(&temperature)
    {
        return Err(ApiError::invalid(format!(
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got {temperature} instead."
        ))
        .param("temperature")
        .code("decimal_above_max_value"));
    }
    if list(body, "stop").len() > 4 {
        return Err(ApiError::invalid(
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length \
             5 instead.",
        )
        .param("stop")
        .code("array_above_max_length"));
    }
    Ok(())
}

/// How many tools there are, and what depends on there being any.
pub(super) fn tool_count(body: &Value) -> Checked {
    let tools = list(body, "tools");
    if body.get("tools").is_some_and(Value::is_array) && tools.is_empty() {
        return Err(ApiError::invalid(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .param("tools")
        .code("empty_array"));
    }
    if tools.len() > TOOLS {
        return Err(ApiError::invalid(format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {TOOLS}, but got an array with \
             length {} instead.",
            tools.len()
        ))
        .param("tools")
        .code("array_above_max_length"));
    }
    for name in ["tool_choice", "parallel_tool_calls"] {
        let given = body.get(name).is_some_and(|value| !value.is_null() && value != "none");
        if tools.is_empty() && given {
            return Err(ApiError::invalid(format!("'{name}' is only allowed when 'tools' are specified."))
                .param(name));
        }
    }
    Ok(())
}

/// The name and the schema of a function; `at` is its place.
pub(super) fn function(function: &Value, at: &str) -> Checked {
    tool_name(text(function, "name"), &format!("{at}.name"))?;
    let name = text(function, "name");
    let invalid = |what: String| {
        ApiError::invalid(format!("Invalid schema for function '{name}': {what}"))
            .param(format!("{at}.parameters"))
            .code("invalid_function_parameters")
    };
    match function.get("parameters") {
        None | Some(Value::Null) => Ok(()),
        Some(parameters) => {
            let strict = function.get("strict") == Some(&true.into());
            schema::of_function(parameters, strict).map_err(invalid)
        }
    }
}

/// A tool's name, wherever it stands.
pub(super) fn tool_name(name: &str, at: &str) -> Checked {
    if name.chars().count() > NAME_CHARS {
        return Err(ApiError::invalid(format!(
            "Invalid '{at}': string too long. Expected a string with maximum length {NAME_CHARS}, but got a string \
             with length {} instead.",
            name.chars().count()
        ))
        .param(at)
        .code("string_above_max_length"));
    }
    if !is_name(name, "_-") {
        return Err(ApiError::invalid(format!(
            "Invalid '{at}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        ))
        .param(at)
        .code("invalid_value"));
    }
    Ok(())
}

fn tools(body: &Value) -> Checked {
    tool_count(body)?;
    let tools = list(body, "tools");
    for (number, tool) in tools.iter().enumerate() {
        let at = format!("tools[{number}]");
        if text(tool, "type") != "function" {
            return Err(missing(&format!("{at}.type")));
        }
        if let Some(name) = unknown(tool, &["type", "function"]) {
            return Err(unknown_parameter(&format!("{at}.{name}")));
        }
        let described = tool.get("function").unwrap_or(&Value::Null);
        if let Some(name) = unknown(described, &["name", "description", "parameters", "strict"]) {
            return Err(unknown_parameter(&format!("{at}.function.{name}")));
        }
        function(described, &format!("{at}.function"))?;
    }
    if let Some(name) = body.pointer("/tool_choice/function/name")
        && !tools.iter().any(|tool| tool.pointer("/function/name") == Some(name))
    {
        return Err(ApiError::invalid(format!(
            "Invalid value for 'tool_choice': no function named {name} was specified in the 'tools' parameter."
        ))
        .param("tool_choice"));
    }
    Ok(())
}

fn response_format(format: &Value) -> Checked {
    let described = format.get("json_schema").unwrap_or(&Value::Null);
    match text(format, "type") {
        "text" | "json_object" => Ok(()),
        "json_schema" => {
            tool_name(text(described, "name"), "response_format.json_schema.name")?;
            answer_schema(described.get("schema"), described, "response_format")
        }
        _ => Err(ApiError::invalid("Invalid value for 'response_format'.").param("response_format.type")),
    }
}

/// The schema of an answer.
pub(super) fn answer_schema(given: Option<&Value>, described: &Value, at: &str) -> Checked {
    let strict = described.get("strict") == Some(&true.into());
    let Some(given) = given else { return Err(missing(&format!("{at}.schema"))) };
    if strict && let Err(what) = schema::of_strict(given) {
        let name = text(described, "name");
        return Err(
            ApiError::invalid(format!("Invalid schema for response_format '{name}': {what}")).param(at)
        );
    }
    Ok(())
}

pub(super) fn missing(at: &str) -> ApiError {
    ApiError::invalid(format!("Missing required parameter: '{at}'."))
        .param(at)
        .code("missing_required_parameter")
}

pub(super) fn unknown_parameter(at: &str) -> ApiError {
    ApiError::invalid(format!("Unknown parameter: '{at}'.")).param(at).code("unknown_parameter")
}

fn messages(messages: &[Value]) -> Checked {
    if messages.is_empty() {
        return Err(ApiError::invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array \
             instead.",
        )
        .param("messages")
        .code("empty_array"));
    }
    // Ids of calls that wait for their results.
    let mut open: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = format!("messages[{number}]");
        let role = text(message, "role");
        if !ROLES.contains(&role) {
            let known: Vec<_> = ROLES.iter().map(|role| format!("'{role}'")).collect();
            return Err(ApiError::invalid(format!(
                "Invalid value: '{role}'. Supported values are: {}.",
                known.join(", ")
            ))
            .param(format!("{at}.role"))
            .code("invalid_value"));
        }
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if !open.contains(&id) {
                return Err(ApiError::invalid(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                     'tool_calls'.",
                )
                .param(format!("{at}.role")));
            }
            open.retain(|waiting| *waiting != id);
        } else if !open.is_empty() {
            return Err(no_responses(&open));
        }
        fields_of(message, role, &at)?;
        content(message, role, &at)?;
        for (index, call) in list(message, "tool_calls").iter().enumerate() {
            tool_call(call, &format!("{at}.tool_calls[{index}]"))?;
            open.push(text(call, "id"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(no_responses(&open)) }
}

fn no_responses(open: &[&str]) -> ApiError {
    ApiError::invalid(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
    .param("messages")
}

fn fields_of(message: &Value, role: &str, at: &str) -> Checked {
    let known: &[&str] = match role {
        "assistant" => &["role", "content", "name", "refusal", "tool_calls", "audio", "function_call"],
        "tool" => &["role", "content", "tool_call_id"],
        _ => &["role", "content", "name"],
    };
    match unknown(message, known) {
        Some(name) => Err(unknown_parameter(&format!("{at}.{name}"))),
        None => Ok(()),
    }
}

fn content(message: &Value, role: &str, at: &str) -> Checked {
    let calls = !list(message, "tool_calls").is_empty();
    if message.get("tool_calls").is_some_and(Value::is_array) && !calls {
        return Err(ApiError::invalid(format!(
            "Invalid '{at}.tool_calls': empty array. Expected an array with minimum length 1, but got an empty \
             array instead."
        ))
        .param(format!("{at}.tool_calls"))
        .code("empty_array"));
    }
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) if !parts.is_empty() => parts
            .iter()
            .enumerate()
            .try_for_each(|(index, part)| content_part(part, role, &format!("{at}.content[{index}]"))),
        None | Some(Value::Null) if role == "assistant" && (calls || message.get("refusal").is_some()) => {
            Ok(())
        }
        _ => Err(ApiError::invalid(format!(
            "Invalid value for 'content': expected a string, got {}.",
            if message.get("content").is_none_or(Value::is_null) { "null" } else { "an invalid value" }
        ))
        .param(format!("{at}.content"))),
    }
}

fn content_part(part: &Value, role: &str, at: &str) -> Checked {
    let known: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    let kind = text(part, "type");
    if !known.contains(&kind) {
        let names: Vec<_> = known.iter().map(|name| format!("'{name}'")).collect();
        return Err(ApiError::invalid(format!(
            "Invalid value: '{kind}'. Supported values are: {}.",
            names.join(", ")
        ))
        .param(format!("{at}.type"))
        .code("invalid_value"));
    }
    if part.get(kind).is_none() {
        return Err(missing(&format!("{at}.{kind}")));
    }
    match unknown(part, &["type", kind]) {
        Some(name) => Err(unknown_parameter(&format!("{at}.{name}"))),
        None if kind == "image_url" => {
            image_url(part.pointer("/image_url/url"), &format!("{at}.image_url.url"))
        }
        None => Ok(()),
    }
}

/// The address of a picture: on the web, or its bytes in it.
pub(super) fn image_url(url: Option<&Value>, at: &str) -> Checked {
    let url = url.and_then(Value::as_str).unwrap_or_default();
    let inline = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let good = url.starts_with("https://")
        || inline
            .is_some_and(|(kind, data)| matches!(kind, "png" | "jpeg" | "gif" | "webp") && !data.is_empty());
    if good {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "Invalid '{at}'. Expected a valid URL, or a base64-encoded data URL of a supported image format."
    ))
    .param(at)
    .code("invalid_value"))
}

fn tool_call(call: &Value, at: &str) -> Checked {
    if text(call, "id").is_empty() {
        return Err(missing(&format!("{at}.id")));
    }
    if text(call, "type") != "function" {
        return Err(missing(&format!("{at}.type")));
    }
    if let Some(name) = unknown(call, &["id", "type", "function"]) {
        return Err(unknown_parameter(&format!("{at}.{name}")));
    }
    let function = call.get("function").unwrap_or(&Value::Null);
    tool_name(text(function, "name"), &format!("{at}.function.name"))?;
    if !function.get("arguments").is_some_and(Value::is_string) {
        return Err(ApiError::invalid(format!(
            "Invalid type for '{at}.function.arguments': expected a string, but got an object instead."
        ))
        .param(format!("{at}.function.arguments"))
        .code("invalid_type"));
    }
    match fields(function).find(|(name, _)| !matches!(name.as_str(), "name" | "arguments")) {
        Some((name, _)) => Err(unknown_parameter(&format!("{at}.function.{name}"))),
        None => Ok(()),
    }
}
