//! Validates the conversation: roles, blocks and their positions.

use serde_json::Value;

use super::turns::{blocks, results_answer_calls, thinking_precedes_calls};
use super::{MAX_NAME_CHARS, MessagesCheckResult, refuse};
use crate::signatures;
use crate::validation::fields::{is_name, list, text, unknown};

pub(super) fn messages(body: &Value) -> MessagesCheckResult {
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

fn content(message: &Value, number: usize, is_last: bool) -> MessagesCheckResult {
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

fn block(block: &Value, role: &str, at: &str) -> MessagesCheckResult {
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
            let signed = signatures::sign_thinking(text(block, "thinking"));
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

fn image(block: &Value, at: &str) -> MessagesCheckResult {
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

fn tool_use(block: &Value, at: &str) -> MessagesCheckResult {
    if !is_name(text(block, "id"), "_-") {
        return refuse(format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    let name = text(block, "name");
    if !is_name(name, "_-") || name.len() > MAX_NAME_CHARS {
        return refuse(format!("{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"));
    }
    if !block.get("input").is_some_and(Value::is_object) {
        return refuse(format!("{at}.tool_use.input: Input should be a valid dictionary"));
    }
    Ok(())
}

fn tool_result(block: &Value, at: &str) -> MessagesCheckResult {
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
