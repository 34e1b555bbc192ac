//! Validates requests of OpenAI's Chat Completions.

mod messages;

use serde_json::Value;

use super::fields::{is_name, list, text, unknown, words};
use super::schema;
use crate::error::ProviderApiError;
use crate::script::FakeModel;

const BODY: &str = "\
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens \
    messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty \
    prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format \
    safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools \
    top_logprobs top_p user verbosity web_search_options";

/// Maximum number of tools in one request, in both of OpenAI's APIs.
const MAX_TOOLS: usize = 128;
const MAX_NAME_CHARS: usize = 64;

type ChatCheckResult = Result<(), ProviderApiError>;

pub(super) fn check(body: &Value, model: &FakeModel) -> ChatCheckResult {
    if let Some(name) = unknown(body, &words(BODY)) {
        return Err(ProviderApiError::invalid(format!("Unrecognized request argument supplied: {name}")));
    }
    sampling(body, model, "max_tokens")?;
    if body.get("stream_options").is_some_and(Value::is_object) && body.get("stream") != Some(&true.into()) {
        return Err(ProviderApiError::invalid(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        )
        .param("stream_options"));
    }
    tools(body)?;
    if let Some(format) = body.get("response_format") {
        response_format(format)?;
    }
    messages::messages(list(body, "messages"))
}

/// Checks options that thinking models, or all models, do not support.
pub(super) fn sampling(body: &Value, model: &FakeModel, tokens: &str) -> ChatCheckResult {
    let unsupported = |name: &str, instead: &str| {
        let message = format!("Unsupported parameter: '{name}' is not supported with this model.{instead}");
        Err(ProviderApiError::invalid(message).param(name).code("unsupported_parameter"))
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
        return Err(ProviderApiError::invalid(format!(
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got {temperature} instead."
        ))
        .param("temperature")
        .code("decimal_above_max_value"));
    }
    if list(body, "stop").len() > 4 {
        return Err(ProviderApiError::invalid(
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length \
             5 instead.",
        )
        .param("stop")
        .code("array_above_max_length"));
    }
    Ok(())
}

/// Checks the number of tools, and the fields that require tools.
pub(super) fn tool_count(body: &Value) -> ChatCheckResult {
    let tools = list(body, "tools");
    if body.get("tools").is_some_and(Value::is_array) && tools.is_empty() {
        return Err(ProviderApiError::invalid(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        )
        .param("tools")
        .code("empty_array"));
    }
    if tools.len() > MAX_TOOLS {
        return Err(ProviderApiError::invalid(format!(
            "Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array with \
             length {} instead.",
            tools.len()
        ))
        .param("tools")
        .code("array_above_max_length"));
    }
    for name in ["tool_choice", "parallel_tool_calls"] {
        let given = body.get(name).is_some_and(|value| !value.is_null() && value != "none");
        if tools.is_empty() && given {
            return Err(ProviderApiError::invalid(format!(
                "'{name}' is only allowed when 'tools' are specified."
            ))
            .param(name));
        }
    }
    Ok(())
}

/// Checks the name and the schema of a function; `at` is its position.
pub(super) fn function(function: &Value, at: &str) -> ChatCheckResult {
    tool_name(text(function, "name"), &format!("{at}.name"))?;
    let name = text(function, "name");
    let invalid = |what: String| {
        ProviderApiError::invalid(format!("Invalid schema for function '{name}': {what}"))
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

/// Checks a tool's name.
pub(super) fn tool_name(name: &str, at: &str) -> ChatCheckResult {
    if name.chars().count() > MAX_NAME_CHARS {
        return Err(ProviderApiError::invalid(format!(
            "Invalid '{at}': string too long. Expected a string with maximum length {MAX_NAME_CHARS}, but got a string \
             with length {} instead.",
            name.chars().count()
        ))
        .param(at)
        .code("string_above_max_length"));
    }
    if !is_name(name, "_-") {
        return Err(ProviderApiError::invalid(format!(
            "Invalid '{at}': string does not match pattern. Expected a string that matches the pattern \
             '^[a-zA-Z0-9_-]+$'."
        ))
        .param(at)
        .code("invalid_value"));
    }
    Ok(())
}

fn tools(body: &Value) -> ChatCheckResult {
    tool_count(body)?;
    let tools = list(body, "tools");
    for (number, tool) in tools.iter().enumerate() {
        let at = format!("tools[{number}]");
        if text(tool, "type") != "function" {
            return Err(missing_parameter(&format!("{at}.type")));
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
        return Err(ProviderApiError::invalid(format!(
            "Invalid value for 'tool_choice': no function named {name} was specified in the 'tools' parameter."
        ))
        .param("tool_choice"));
    }
    Ok(())
}

fn response_format(format: &Value) -> ChatCheckResult {
    let described = format.get("json_schema").unwrap_or(&Value::Null);
    match text(format, "type") {
        "text" | "json_object" => Ok(()),
        "json_schema" => {
            tool_name(text(described, "name"), "response_format.json_schema.name")?;
            answer_schema(described.get("schema"), described, "response_format")
        }
        _ => {
            Err(ProviderApiError::invalid("Invalid value for 'response_format'.")
                .param("response_format.type"))
        }
    }
}

/// Checks the schema of an answer.
pub(super) fn answer_schema(given: Option<&Value>, described: &Value, at: &str) -> ChatCheckResult {
    let strict = described.get("strict") == Some(&true.into());
    let Some(given) = given else { return Err(missing_parameter(&format!("{at}.schema"))) };
    if strict && let Err(what) = schema::of_strict(given) {
        let name = text(described, "name");
        return Err(ProviderApiError::invalid(format!(
            "Invalid schema for response_format '{name}': {what}"
        ))
        .param(at));
    }
    Ok(())
}

pub(super) fn missing_parameter(at: &str) -> ProviderApiError {
    ProviderApiError::invalid(format!("Missing required parameter: '{at}'."))
        .param(at)
        .code("missing_required_parameter")
}

pub(super) fn unknown_parameter(at: &str) -> ProviderApiError {
    ProviderApiError::invalid(format!("Unknown parameter: '{at}'.")).param(at).code("unknown_parameter")
}

/// Checks the URL of an image: a web URL or a data URL.
pub(super) fn image_url(url: Option<&Value>, at: &str) -> ChatCheckResult {
    let url = url.and_then(Value::as_str).unwrap_or_default();
    let inline = url.strip_prefix("data:image/").and_then(|rest| rest.split_once(";base64,"));
    let good = url.starts_with("https://")
        || inline
            .is_some_and(|(kind, data)| matches!(kind, "png" | "jpeg" | "gif" | "webp") && !data.is_empty());
    if good {
        return Ok(());
    }
    Err(ProviderApiError::invalid(format!(
        "Invalid '{at}'. Expected a valid URL, or a base64-encoded data URL of a supported image format."
    ))
    .param(at)
    .code("invalid_value"))
}
