//! Validates the conversation: roles, contents, and results of calls.

use serde_json::Value;

use super::{ChatCheckResult, image_url, missing_parameter, tool_name, unknown_parameter};
use crate::error::ProviderApiError;
use crate::validation::fields::{fields, list, text, unknown};

const ROLES: &[&str] = &["system", "assistant", "user", "function", "tool", "developer"];

pub(super) fn messages(messages: &[Value]) -> ChatCheckResult {
    if messages.is_empty() {
        return Err(ProviderApiError::invalid(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array \
             instead.",
        )
        .param("messages")
        .code("empty_array"));
    }
    // Ids of calls without results so far.
    let mut open: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = format!("messages[{number}]");
        let role = text(message, "role");
        if !ROLES.contains(&role) {
            let known: Vec<_> = ROLES.iter().map(|role| format!("'{role}'")).collect();
            return Err(ProviderApiError::invalid(format!(
                "Invalid value: '{role}'. Supported values are: {}.",
                known.join(", ")
            ))
            .param(format!("{at}.role"))
            .code("invalid_value"));
        }
        if role == "tool" {
            let id = text(message, "tool_call_id");
            if !open.contains(&id) {
                return Err(ProviderApiError::invalid(
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

fn no_responses(open: &[&str]) -> ProviderApiError {
    ProviderApiError::invalid(format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    ))
    .param("messages")
}

fn fields_of(message: &Value, role: &str, at: &str) -> ChatCheckResult {
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

fn content(message: &Value, role: &str, at: &str) -> ChatCheckResult {
    let calls = !list(message, "tool_calls").is_empty();
    if message.get("tool_calls").is_some_and(Value::is_array) && !calls {
        return Err(ProviderApiError::invalid(format!(
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
        _ => Err(ProviderApiError::invalid(format!(
            "Invalid value for 'content': expected a string, got {}.",
            if message.get("content").is_none_or(Value::is_null) { "null" } else { "an invalid value" }
        ))
        .param(format!("{at}.content"))),
    }
}

fn content_part(part: &Value, role: &str, at: &str) -> ChatCheckResult {
    let known: &[&str] = match role {
        "user" => &["text", "image_url", "input_audio", "file"],
        "assistant" => &["text", "refusal"],
        _ => &["text"],
    };
    let kind = text(part, "type");
    if !known.contains(&kind) {
        let names: Vec<_> = known.iter().map(|name| format!("'{name}'")).collect();
        return Err(ProviderApiError::invalid(format!(
            "Invalid value: '{kind}'. Supported values are: {}.",
            names.join(", ")
        ))
        .param(format!("{at}.type"))
        .code("invalid_value"));
    }
    if part.get(kind).is_none() {
        return Err(missing_parameter(&format!("{at}.{kind}")));
    }
    match unknown(part, &["type", kind]) {
        Some(name) => Err(unknown_parameter(&format!("{at}.{name}"))),
        None if kind == "image_url" => {
            image_url(part.pointer("/image_url/url"), &format!("{at}.image_url.url"))
        }
        None => Ok(()),
    }
}

fn tool_call(call: &Value, at: &str) -> ChatCheckResult {
    if text(call, "id").is_empty() {
        return Err(missing_parameter(&format!("{at}.id")));
    }
    if text(call, "type") != "function" {
        return Err(missing_parameter(&format!("{at}.type")));
    }
    if let Some(name) = unknown(call, &["id", "type", "function"]) {
        return Err(unknown_parameter(&format!("{at}.{name}")));
    }
    let function = call.get("function").unwrap_or(&Value::Null);
    tool_name(text(function, "name"), &format!("{at}.function.name"))?;
    if !function.get("arguments").is_some_and(Value::is_string) {
        return Err(ProviderApiError::invalid(format!(
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
