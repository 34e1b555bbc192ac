//! Validates requests of Anthropic's Messages API.

mod messages;
mod turns;

use axum::http::HeaderMap;
use serde_json::Value;

use super::fields::{fields, is_name, list, text, unknown, words};
use crate::error::ProviderApiError;

const BODY: &str = "\
    cache_control container context_management diagnostics inference_geo max_tokens mcp_servers messages \
    metadata model output_config service_tier speed stop_sequences stream system temperature thinking \
    tool_choice tools top_k top_p user_profile_id workspace_id";

/// The beta for thinking that was created in another conversation.
const THINKING_BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// Versions of the API.
const VERSIONS: [&str; 2] = ["2023-06-01", "2026-10-21"];

/// Fields that the newer version does not have.
const REMOVED_IN_2026: [&str; 3] = ["temperature", "top_k", "top_p"];

const TOOL: &str = "\
    type name description input_schema cache_control strict allowed_callers defer_loading \
    eager_input_streaming input_examples";

const MAX_NAME_CHARS: usize = 128;
const MAX_BREAKPOINTS: usize = 4;

type MessagesCheckResult = Result<(), ProviderApiError>;

fn refuse<T>(message: impl Into<String>) -> Result<T, ProviderApiError> {
    Err(ProviderApiError::invalid(message))
}

pub(super) fn check(headers: &HeaderMap, body: &Value) -> MessagesCheckResult {
    let version = headers.get("anthropic-version").and_then(|value| value.to_str().ok());
    let Some(version) = version else { return refuse("anthropic-version: header is required") };
    if !VERSIONS.contains(&version) {
        return refuse(format!("anthropic-version: \"{version}\" is not a valid version"));
    }
    if version == "2026-10-21"
        && let Some(name) = REMOVED_IN_2026.iter().find(|name| body.get(name).is_some())
    {
        return refuse(format!("{name}: Extra inputs are not permitted"));
    }
    if let Some(name) = unknown(body, &words(BODY)) {
        return refuse(format!("{name}: Extra inputs are not permitted"));
    }
    if body.get("max_tokens").is_none() {
        return refuse("max_tokens: Field required");
    }
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|tokens| tokens == 0) {
        return refuse("max_tokens: must be greater than or equal to 1");
    }
    thinking(headers, body)?;
    check_breakpoints(body)?;
    system(body)?;
    tools(body)?;
    messages::messages(body)
}

fn is_thinking(body: &Value) -> bool {
    body.pointer("/thinking/type").is_some_and(|kind| kind == "enabled" || kind == "adaptive")
}

fn thinking(headers: &HeaderMap, body: &Value) -> MessagesCheckResult {
    let asked = body.get("thinking").unwrap_or(&Value::Null);
    let betas = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    let may_bind = betas.flat_map(|betas| betas.split(',')).any(|beta| beta.trim() == THINKING_BINDING_BETA);
    let known = words("type budget_tokens display block_binding");
    if let Some(name) = unknown(asked, &known).or(match asked.get("block_binding") {
        Some(_) if !may_bind => Some("block_binding"),
        _ => None,
    }) {
        let kind = text(asked, "type");
        return refuse(format!("thinking.{kind}.{name}: Extra inputs are not permitted"));
    }
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

/// Counts the cache breakpoints.
fn check_breakpoints(body: &Value) -> MessagesCheckResult {
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
        found if found > MAX_BREAKPOINTS => refuse(format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {found}."
        )),
        _ => Ok(()),
    }
}

fn system(body: &Value) -> MessagesCheckResult {
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

fn tools(body: &Value) -> MessagesCheckResult {
    let tools = list(body, "tools");
    for (number, tool) in tools.iter().enumerate() {
        let kind = text(tool, "type");
        // Tools that the provider runs itself have their own rules.
        if !kind.is_empty() && kind != "custom" {
            continue;
        }
        let at = format!("tools.{number}.custom");
        if let Some(name) = unknown(tool, &words(TOOL)) {
            return refuse(format!("{at}.{name}: Extra inputs are not permitted"));
        }
        let name = text(tool, "name");
        if !is_name(name, "_-") || name.len() > MAX_NAME_CHARS {
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
