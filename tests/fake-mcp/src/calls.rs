//! The behaviour of the tools, grouped by topic.

pub(crate) mod content;
mod input;
mod jobs;
mod notifications;
mod questions;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, LoggingLevel,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::changes::ServerChange;
use crate::state::FakeMcpState;
use crate::{resources, tools};

/// A tool call.
pub(crate) struct FakeToolCall<'a> {
    pub(crate) state: &'a FakeMcpState,
    /// Minimum level of log messages for the client; `None` for no messages.
    pub(crate) log_level: Option<LoggingLevel>,
    pub(crate) request: CallToolRequestParams,
    pub(crate) cx: RequestContext<RoleServer>,
}

impl FakeToolCall<'_> {
    /// Returns a text argument.
    pub(crate) fn text(&self, name: &str) -> Result<&str, ErrorData> {
        let missing = || ErrorData::invalid_params(format!("the argument {name} is missing"), None);
        self.argument(name).and_then(Value::as_str).ok_or_else(missing)
    }

    /// Returns an argument.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.request.arguments.as_ref()?.get(name)
    }

    /// Returns true if the client supports tasks.
    pub(crate) fn knows_tasks(&self) -> bool {
        self.cx.client_capabilities().is_some_and(|declared| declared.supports_tasks())
    }
}

/// Creates a result with one text.
pub(crate) fn text_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Creates an error result for the caller.
pub(crate) fn error_result(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

pub(crate) async fn call(
    state: &FakeMcpState,
    log_level: Option<LoggingLevel>,
    request: CallToolRequestParams,
    cx: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let call = FakeToolCall { state, log_level, request, cx };
    let changes = &state.changes;
    let name = call.request.name.to_string();
    if let Some(result) = content::call(&name) {
        return Ok(result.into());
    }
    let made = |change: ServerChange| {
        changes.apply(change);
        Ok(text_result("Changed.").into())
    };
    match name.as_str() {
        "test_protocol_error" => Err(ErrorData::new(
            rmcp::model::ErrorCode(-32099),
            "As it was meant to fail",
            Some(json!({"b": 1, "a": [2]})),
        )),
        "test_structured" => structured(&call),
        "test_echo" => Ok(echo(&call).into()),
        "test_header_params" => Ok(text_result(format!("The region is {}", call.text("region")?)).into()),
        "test_tool_with_logging" => notifications::logs(&call).await,
        "test_logging_tool" => notifications::all_levels(&call).await,
        "test_tool_with_progress" => notifications::progress(&call).await,
        "test_until_cancelled" => notifications::until_cancelled(&call).await,
        "test_cancelled_count" => Ok(text_result(state.cancelled().to_string()).into()),
        "test_reconnection" => notifications::force_reconnection(&call).await,
        "test_trigger_tool_change" => made(ServerChange::Tools),
        "test_trigger_prompt_change" => made(ServerChange::Prompts),
        "test_trigger_resource_change" => made(ServerChange::Resources),
        "test_trigger_resource_update" => made(ServerChange::Resource(resources::WATCHED.to_owned())),
        tools::SOMETIMES if changes.has_tool() => Ok(text_result("It is offered now.").into()),
        name if name.starts_with("test_input_required_result_") => input::call(&call).await,
        "greet" => Ok(text_result(format!("Hello, {}!", call.text("name")?)).into()),
        "slow_compute"
        | "failing_job"
        | "protocol_error_job"
        | "confirm_delete"
        | "multi_input"
        | "test_task_only"
        | "test_tool_with_task" => jobs::call(&call).await,
        _ => questions::call(&call).await,
    }
}

fn structured(call: &FakeToolCall<'_>) -> Result<CallToolResponse, ErrorData> {
    let number = |name: &str| {
        let missing = || ErrorData::invalid_params(format!("the argument {name} is missing"), None);
        call.argument(name).and_then(Value::as_f64).ok_or_else(missing)
    };
    let sum = json!({"sum": number("a")? + number("b")?});
    let mut result = text_result(sum.to_string());
    result.structured_content = Some(sum);
    Ok(result.into())
}

/// Returns the arguments and the metadata that is not the protocol's own.
fn echo(call: &FakeToolCall<'_>) -> CallToolResult {
    let meta: JsonObject = call
        .cx
        .meta
        .iter()
        .filter(|(key, _)| !key.starts_with("io.modelcontextprotocol/") && *key != "progressToken")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let arguments = call.request.arguments.clone().unwrap_or_default();
    let mut result = text_result(Value::Object(arguments).to_string());
    result.meta = (!meta.is_empty()).then_some(rmcp::model::MetaObject(meta));
    result
}
