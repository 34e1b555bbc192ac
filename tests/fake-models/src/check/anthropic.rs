//! What Anthropic's Messages refuse.

use axum::http::HeaderMap;
use serde_json::Value;

use super::fields::{fields, is_name, list, text, unknown};
use crate::error::ApiError;
use crate::signatures;

const BODY: &[&str] = &[
    "cache_control",
    "container",
    "context_management",
    "diagnostics",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

const TOOL: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "allowed_callers",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
];

const NAME_CHARS: usize = 128;
const BREAKPOINTS: usize = 4;

type Checked = Result<(), ApiError>;

fn refuse<T>(message: impl Into<String>) -> Result<T, ApiError> {
    Err(ApiError::invalid(message))
}

pub(super) fn check(headers: &HeaderMap, body: &Value) -> Checked {
    if !headers.contains_key("anthropic-version") {
        return refuse("anthropic-version: header is required");
    }
    if let Some(name) = unknown(body, BODY) {
        return refuse(format!("{name}: Extra inputs are not permitted"));
    }
    if body.get("max_tokens").is_none() {
        return refuse("max_tokens: Field required");
    }
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|tokens| tokens == 0) {
        return refuse("max_tokens: must be greater than or equal to 1");
    }
    thinking(body)?;
    breakpoints(body)?;
    system(body)?;
    tools(body)?;
    messages(body)
}

fn is_thinking(body: &Value) -> bool {
    body.pointer("/thinking/type").is_some_and(|kind| kind == "enabled" || kind == "adaptive")
}

fn thinking(body: &Value) -> Checked {
    if !is_thinking(body) {
        return Ok(());
    }
    if body.pointer("/thinking/type") == Some(&"enabled".into()) {
        let budget = body.pointer("/thinking/budget_tokens").and_then(Value::as_u64);
        let Some(budget) = budget else {
            return refuse("thinking.enabled.budget_tokens: Field required");
        };
        if budget < 1024 {
            return refuse("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024");
        }
        if body.get("max_tokens").and_then(Value::as_u64).is_some_and(|tokens| tokens <= budget) {
            return refuse("`max_tokens` must be greater than `thinking.budget_tokens`.");
        }
    }
    if body.get("temperature").is_some_and(|value| value.as_f64() != Some(1.0)) {
        return refuse("`temperature` may only be set to 1 when thinking is enabled.");
    }
    if body.get("top_k").is_some() {
        return refuse("`top_k` must be unset when thinking is enabled.");
    }
    if body.pointer("/tool_choice/type").is_some_and(|kind| kind == "any" || kind == "tool") {
        return refuse("Thinking may not be enabled when tool_choice forces tool use.");
    }
    Ok(())
}

/// Counts the places where the cache is told to hold.
fn breakpoints(body: &Value) -> Checked {
    fn count(value: &Value) -> usize {
        match value {
            Value::Object(_) => {
                let below: usize = fields(value)
                    .filter(|(name, _)| !matches!(name.as_str(), "input_schema" | "input"))
                    .map(|(_, below)| count(below))
                    .sum();
                below + usize::from(value.get("cache_control").is_some_and(Value::is_object))
            }
            Value::Array(values) => values.iter().map(count).sum(),
            _ => 0,
        }
    }
    match count(body) {
        found if found > BREAKPOINTS => refuse(format!(
            "A maximum of {BREAKPOINTS} blocks with cache_control may be provided. Found {found}."
        )),
        _ => Ok(()),
    }
}

fn system(body: &Value) -> Checked {
    match body.get("system") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) => {
            for (number, block) in blocks.iter().enumerate() {
                if text(block, "type") != "text" {
                    return refuse(format!("system.{number}.type: Input should be 'text'"));
                }
                if text(block, "text").is_empty() {
                    return refuse("system: text content blocks must be non-empty");
                }
            }
            Ok(())
        }
        Some(_) => refuse("system: Input should be a valid string or list"),
    }
}

fn tools(body: &Value) -> Checked {
    let tools = list(body, "tools");
    for (number, tool) in tools.iter().enumerate() {
        let kind = text(tool, "type");
        // Tools that the provider runs itself have rules of their own.
        if !kind.is_empty() && kind != "custom" {
            continue;
        }
        let at = format!("tools.{number}.custom");
        if let Some(name) = unknown(tool, TOOL) {
            return refuse(format!("{at}.{name}: Extra inputs are not permitted"));
        }
        let name = text(tool, "name");
        if !is_name(name, "_-") || name.len() > NAME_CHARS {
            return refuse(format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"));
        }
        let Some(schema) = tool.get("input_schema") else {
            return refuse(format!("{at}.input_schema: Field required"));
        };
        match schema.get("type") {
            Some(kind) if kind == "object" => {}
            Some(_) => return refuse(format!("{at}.input_schema.type: Input should be 'object'")),
            None => return refuse(format!("{at}.input_schema.type: Field required")),
        }
        if ["oneOf", "allOf", "anyOf"].iter().any(|keyword| schema.get(keyword).is_some()) {
            return refuse(format!(
                "{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            ));
        }
        if tools.iter().take(number).any(|other| text(other, "name") == name) {
            return refuse("tools: Tool names must be unique.");
        }
    }
    if body.get("tool_choice").is_some_and(Value::is_object) && tools.is_empty() {
        return refuse("tool_choice: tool_choice may only be specified while providing tools");
    }
    if let Some(name) = body.pointer("/tool_choice/name").and_then(Value::as_str)
        && !tools.iter().any(|tool| text(tool, "name") == name)
    {
        return refuse(format!("Tool '{name}' not found in provided tools"));
    }
    Ok(())
}

/// The blocks of a message; a string is one of text.
fn blocks(message: &Value) -> &[Value] {
    list(message, "content")
}

fn messages(body: &Value) -> Checked {
    let messages = list(body, "messages");
    let Some(first) = messages.first() else { return refuse("messages: at least one message is required") };
    if text(first, "role") != "user" {
        return refuse("messages: first message must use the \"user\" role");
    }
    let mut ids: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if role != "user" && role != "assistant" {
            return refuse(format!(
                "messages.{number}.role: Input should be 'user' or 'assistant'. Use the top-level `system` parameter \
                 for the initial system prompt"
            ));
        }
        if let Some(name) = unknown(message, &["role", "content"]) {
            return refuse(format!("messages.{number}.{name}: Extra inputs are not permitted"));
        }
        content(message, number, number + 1 == messages.len())?;
        results_answer_calls(messages, number)?;
        for call in blocks(message).iter().filter(|block| text(block, "type") == "tool_use") {
            let id = text(call, "id");
            if ids.contains(&id) {
                return refuse("messages: `tool_use` ids must be unique");
            }
            ids.push(id);
        }
    }
    thinking_precedes_calls(body, messages)
}

fn content(message: &Value, number: usize, is_last: bool) -> Checked {
    let role = text(message, "role");
    let empty = match message.get("content") {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(blocks)) => blocks.is_empty(),
        _ => return refuse(format!("messages.{number}.content: Field required")),
    };
    if empty && !(is_last && role == "assistant") {
        return refuse(format!(
            "messages.{number}: all messages must have non-empty content except for the optional final assistant \
             message"
        ));
    }
    for (index, block) in blocks(message).iter().enumerate() {
        self::block(block, role, &format!("messages.{number}.content.{index}"))?;
    }
    if is_last && role == "assistant" {
        let last = match message.get("content") {
            Some(Value::String(text)) => text.as_str(),
            _ => blocks(message).last().map(|block| text(block, "text")).unwrap_or_default(),
        };
        if last.ends_with(char::is_whitespace) {
            return refuse("messages: final assistant content cannot end with trailing whitespace");
        }
    }
    Ok(())
}

fn block(block: &Value, role: &str, at: &str) -> Checked {
    let kind = text(block, "type");
    let known: &[&str] = match (kind, role) {
        ("text", _) => &["type", "text", "cache_control", "citations"],
        ("image", "user") => &["type", "source", "cache_control", "transformations"],
        ("document", "user") => return Ok(()),
        ("tool_result", "user") => {
            &["type", "tool_use_id", "content", "is_error", "cache_control", "toolset_name"]
        }
        ("tool_use", "assistant") => {
            &["type", "id", "name", "input", "cache_control", "caller", "toolset_name"]
        }
        ("thinking", "assistant") => &["type", "thinking", "signature"],
        ("redacted_thinking", "assistant") => &["type", "data"],
        ("tool_use" | "thinking" | "redacted_thinking", _) => {
            return refuse(format!("{at}: `{kind}` blocks can only be in `assistant` messages"));
        }
        ("tool_result", _) => {
            return refuse(format!("{at}: `tool_result` blocks can only be in `user` messages"));
        }
        _ => {
            return refuse(format!(
                "{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            ));
        }
    };
    if let Some(name) = unknown(block, known) {
        return refuse(format!("{at}.{kind}.{name}: Extra inputs are not permitted"));
    }
    match kind {
        "text" if text(block, "text").is_empty() => refuse("messages: text content blocks must be non-empty"),
        "image" => image(block, at),
        "tool_use" => tool_use(block, at),
        "tool_result" => tool_result(block, at),
        "thinking" => {
            let signed = signatures::of_thinking(text(block, "thinking"));
            if block.get("signature").is_none() {
                return refuse(format!("{at}.thinking.signature: Field required"));
            }
            if text(block, "signature") != signed {
                return refuse(format!("{at}: Invalid `signature` in `thinking` block"));
            }
            Ok(())
        }
        "redacted_thinking" if !signatures::is_hidden(text(block, "data")) => {
            refuse(format!("{at}: Invalid `data` in `redacted_thinking` block"))
        }
        _ => Ok(()),
    }
}

fn image(block: &Value, at: &str) -> Checked {
    let source = block.get("source").unwrap_or(&Value::Null);
    match text(source, "type") {
        "url" => Ok(()),
        "base64" => {
            let media_type = text(source, "media_type");
            if !["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&media_type) {
                return refuse(format!(
                    "{at}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or \
                     'image/webp'"
                ));
            }
            if text(source, "data").is_empty() {
                return refuse(format!("{at}.image.source.base64.data: Field required"));
            }
            Ok(())
        }
        _ => refuse(format!("{at}.image.source: Field required")),
    }
}

fn tool_use(block: &Value, at: &str) -> Checked {
    if !is_name(text(block, "id"), "_-") {
        return refuse(format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    let name = text(block, "name");
    if !is_name(name, "_-") || name.len() > NAME_CHARS {
        return refuse(format!("{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"));
    }
    if !block.get("input").is_some_and(Value::is_object) {
        return refuse(format!("{at}.tool_use.input: Input should be a valid dictionary"));
    }
    Ok(())
}

fn tool_result(block: &Value, at: &str) -> Checked {
    if text(block, "tool_use_id").is_empty() {
        return refuse(format!("{at}.tool_result.tool_use_id: Field required"));
    }
    if block.get("is_error").is_some_and(|flag| !flag.is_boolean()) {
        return refuse(format!("{at}.tool_result.is_error: Input should be a valid boolean"));
    }
    let is_error = block.get("is_error") == Some(&true.into());
    for (index, inner) in list(block, "content").iter().enumerate() {
        let at = format!("{at}.tool_result.content.{index}");
        match text(inner, "type") {
            "text" if text(inner, "text").is_empty() => {
                return refuse("messages: text content blocks must be non-empty");
            }
            "image" if is_error => {
                return refuse(format!("{at}: all content must be type \"text\" if \"is_error\" is true"));
            }
            "image" => image(inner, &at)?,
            "text" | "document" | "search_result" => {}
            kind => return refuse(format!("{at}: Input tag '{kind}' found using 'type' does not match")),
        }
    }
    Ok(())
}

/// Calls have their results in the next message, all of them, before anything else; and no result stands alone.
fn results_answer_calls(messages: &[Value], number: usize) -> Checked {
    let of = |message: Option<&'_ Value>, kind: &str, field: &str| -> Vec<String> {
        let blocks = message.map(blocks).unwrap_or_default().iter();
        blocks
            .filter(|block| text(block, "type") == kind)
            .map(|block| text(block, field).to_owned())
            .collect()
    };
    let here = messages.get(number);
    let calls = of(here, "tool_use", "id");
    let answers = of(messages.get(number + 1), "tool_result", "tool_use_id");
    let unanswered: Vec<_> = calls.iter().filter(|id| !answers.contains(id)).cloned().collect();
    if !unanswered.is_empty() {
        return refuse(format!(
            "messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message.",
            unanswered.join(", ")
        ));
    }
    let before = number.checked_sub(1).and_then(|before| messages.get(before));
    let asked = of(before, "tool_use", "id");
    let results = of(here, "tool_result", "tool_use_id");
    if let Some(id) = results.iter().find(|id| !asked.contains(id)) {
        return refuse(format!(
            "messages.{number}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
             `tool_result` block must have a corresponding `tool_use` block in the previous message."
        ));
    }
    for (index, id) in results.iter().enumerate() {
        if results.iter().take(index).any(|other| other == id) {
            return refuse(format!(
                "messages.{number}.content.{index}: each tool_use must have a single result. Found multiple \
                 `tool_result` blocks with id: {id}"
            ));
        }
    }
    let all = here.map(blocks).unwrap_or_default();
    let first_other = all.iter().position(|block| text(block, "type") != "tool_result");
    let last_result = all.iter().rposition(|block| text(block, "type") == "tool_result");
    match (first_other, last_result) {
        (Some(other), Some(result)) if other < result => refuse(format!(
            "messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message.",
            asked.join(", ")
        )),
        _ => Ok(()),
    }
}

/// Where thinking is on, the answer that the results belong to begins with thinking.
fn thinking_precedes_calls(body: &Value, messages: &[Value]) -> Checked {
    if !is_thinking(body) {
        return Ok(());
    }
    let Some((number, last)) =
        messages.iter().enumerate().rev().find(|(_, message)| text(message, "role") == "assistant")
    else {
        return Ok(());
    };
    let calls = blocks(last).iter().any(|block| text(block, "type") == "tool_use");
    let in_loop = messages
        .get(number + 1)
        .is_some_and(|next| blocks(next).iter().any(|block| text(block, "type") == "tool_result"));
    let first = blocks(last).first().map(|block| text(block, "type")).unwrap_or_default();
    if calls && in_loop && first != "thinking" && first != "redacted_thinking" {
        return refuse(format!(
            "messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks)."
        ));
    }
    Ok(())
}
