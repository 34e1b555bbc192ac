//! Validates requests of OpenAI's Responses.

use std::collections::HashMap;

use serde_json::Value;

use super::fields::{list, text, unknown, words};
use super::openai::{
    answer_schema, function, image_url, missing_parameter, sampling, tool_count, tool_name, unknown_parameter,
};
use crate::error::ProviderApiError;
use crate::script::FakeModel;
use crate::signatures;

const BODY: &str = "\
    access_programs background background_options context_management conversation image include input \
    instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls \
    previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning \
    safety_identifier service_tier store stream stream_options temperature text tool_choice tools \
    top_logprobs top_p truncation user";

const TOOL: &str = "\
    type name description parameters strict async allowed_callers defer_loading output_schema";

type ResponsesCheckResult = Result<(), ProviderApiError>;

/// Validates a request. `issued` has the reasoning item directly before each item that this server created.
pub(super) fn check(
    body: &Value,
    model: &FakeModel,
    issued: &HashMap<String, String>,
) -> ResponsesCheckResult {
    if let Some(name) = unknown(body, &words(BODY)) {
        return Err(unknown_parameter(name));
    }
    sampling(body, model, "max_output_tokens")?;
    if let Some(limit) = body.get("max_output_tokens").and_then(Value::as_u64)
        && limit < 16
    {
        return Err(ProviderApiError::invalid(format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {limit} \
             instead."
        ))
        .param("max_output_tokens")
        .code("integer_below_min_value"));
    }
    tool_count(body)?;
    for (number, tool) in list(body, "tools").iter().enumerate() {
        let at = format!("tools[{number}]");
        if text(tool, "type") != "function" {
            return Err(missing_parameter(&format!("{at}.type")));
        }
        if let Some(name) = unknown(tool, &words(TOOL)) {
            return Err(unknown_parameter(&format!("{at}.{name}")));
        }
        if tool.get("name").is_none() {
            return Err(missing_parameter(&format!("{at}.name")));
        }
        // Missing means strict here.
        let mut tool = tool.clone();
        if tool.get("strict").is_none_or(Value::is_null) {
            tool["strict"] = true.into();
        }
        function(&tool, &at)?;
    }
    let format = body.pointer("/text/format").unwrap_or(&Value::Null);
    if text(format, "type") == "json_schema" {
        tool_name(text(format, "name"), "text.format.name")?;
        answer_schema(format.get("schema"), format, "text.format")?;
    }
    match body.get("input") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(items)) => input(items, body, issued),
        _ => Err(missing_parameter("input")),
    }
}

fn input(items: &[Value], body: &Value, issued: &HashMap<String, String>) -> ResponsesCheckResult {
    let calls: Vec<_> = ids_of(items, "function_call");
    let outputs: Vec<_> = ids_of(items, "function_call_output");
    if let Some(id) = outputs.iter().find(|id| !calls.contains(id)) {
        return Err(ProviderApiError::invalid(format!(
            "No tool call found for function call output with call_id {id}."
        ))
        .param("input"));
    }
    if let Some(id) = calls.iter().find(|id| !outputs.contains(id)) {
        return Err(
            ProviderApiError::invalid(format!("No tool output found for function call {id}.")).param("input")
        );
    }
    let stores = body.get("store") != Some(&false.into());
    for (number, item) in items.iter().enumerate() {
        let at = format!("input[{number}]");
        match text(item, "type") {
            "message" | "" => message(item, &at)?,
            "function_call" => call(item, &at)?,
            "function_call_output" => output(item, &at)?,
            "reasoning" => reasoning(item, items.get(number + 1), stores, &at)?,
            "item_reference" => {}
            kind => {
                return Err(ProviderApiError::invalid(format!("Invalid value: '{kind}'."))
                    .param(format!("{at}.type"))
                    .code("invalid_value"));
            }
        }
        let id = text(item, "id");
        if let Some(reasoning) = issued.get(id)
            && !items.iter().take(number).any(|before| text(before, "id") == reasoning)
        {
            let kind = text(item, "type");
            return Err(ProviderApiError::invalid(format!(
                "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reasoning}'."
            ))
            .param("input"));
        }
    }
    Ok(())
}

fn ids_of<'a>(items: &'a [Value], kind: &str) -> Vec<&'a str> {
    items.iter().filter(|item| text(item, "type") == kind).map(|item| text(item, "call_id")).collect()
}

fn item_fields(item: &Value, known: &[&str], at: &str) -> ResponsesCheckResult {
    match unknown(item, known) {
        Some(name) => Err(unknown_parameter(&format!("{at}.{name}"))),
        None => Ok(()),
    }
}

fn message(item: &Value, at: &str) -> ResponsesCheckResult {
    item_fields(item, &["type", "role", "content", "id", "status", "phase"], at)?;
    let role = text(item, "role");
    if !["system", "developer", "user", "assistant"].contains(&role) {
        return Err(ProviderApiError::invalid(format!(
            "Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        ))
        .param(format!("{at}.role"))
        .code("invalid_value"));
    }
    match item.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            let known: &[&str] = if role == "assistant" {
                &["output_text", "refusal"]
            } else {
                &["input_text", "input_image", "input_file"]
            };
            parts
                .iter()
                .enumerate()
                .try_for_each(|(index, part)| content_part(part, known, &format!("{at}.content[{index}]")))
        }
        _ => Err(missing_parameter(&format!("{at}.content"))),
    }
}

fn content_part(part: &Value, known: &[&str], at: &str) -> ResponsesCheckResult {
    let kind = text(part, "type");
    if !known.contains(&kind) {
        let names: Vec<_> = known.iter().map(|name| format!("'{name}'")).collect();
        return Err(ProviderApiError::invalid(format!(
            "Invalid value: '{kind}'. Supported values are: {}.",
            names.join(" and ")
        ))
        .param(at)
        .code("invalid_value"));
    }
    if kind == "input_image" {
        return image_url(part.get("image_url"), &format!("{at}.image_url"));
    }
    Ok(())
}

fn call(item: &Value, at: &str) -> ResponsesCheckResult {
    let known = ["type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"];
    item_fields(item, &known, at)?;
    tool_name(text(item, "name"), &format!("{at}.name"))?;
    for field in ["call_id", "arguments"] {
        if !item.get(field).is_some_and(Value::is_string) {
            return Err(missing_parameter(&format!("{at}.{field}")));
        }
    }
    let id = text(item, "id");
    if !id.is_empty() && !id.starts_with("fc") {
        return Err(ProviderApiError::invalid(format!(
            "Invalid '{at}.id': '{id}'. Expected an ID that begins with 'fc'."
        ))
        .param(format!("{at}.id"))
        .code("invalid_value"));
    }
    Ok(())
}

fn output(item: &Value, at: &str) -> ResponsesCheckResult {
    item_fields(item, &["type", "id", "call_id", "output", "status", "caller"], at)?;
    match item.get("output") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            let known = ["input_text", "input_image", "input_file"];
            parts
                .iter()
                .enumerate()
                .try_for_each(|(index, part)| content_part(part, &known, &format!("{at}.output[{index}]")))
        }
        _ => Err(missing_parameter(&format!("{at}.output"))),
    }
}

fn reasoning(item: &Value, next: Option<&Value>, stores: bool, at: &str) -> ResponsesCheckResult {
    item_fields(item, &["type", "id", "summary", "content", "encrypted_content", "status"], at)?;
    let id = text(item, "id");
    if !item.get("summary").is_some_and(Value::is_array) {
        return Err(missing_parameter(&format!("{at}.summary")));
    }
    match item.get("encrypted_content").and_then(Value::as_str) {
        Some(sealed) if signatures::is_hidden(sealed) => {}
        Some(sealed) => {
            let start: String = sealed.chars().take(8).collect();
            return Err(ProviderApiError::invalid(format!(
                "The encrypted content {start}... could not be verified."
            ))
            .code("invalid_encrypted_content"));
        }
        None if stores => {}
        None => {
            return Err(ProviderApiError::new(
                404,
                format!(
                    "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again \
                     with `store` set to true, or remove this item from your input."
                ),
            )
            .param("input"));
        }
    }
    let followed = next.is_some_and(|next| {
        matches!(text(next, "type"), "function_call" | "reasoning")
            || (matches!(text(next, "type"), "message" | "") && text(next, "role") == "assistant")
    });
    if followed {
        return Ok(());
    }
    Err(ProviderApiError::invalid(format!(
        "Item '{id}' of type 'reasoning' was provided without its required following item."
    ))
    .param("input"))
}
