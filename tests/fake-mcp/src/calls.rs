//! What the tools do, by what they are about.

mod asking;
pub(crate) mod content;
mod input;
mod jobs;
mod telling;

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::changes::Change;
use crate::handler::Handler;
use crate::{resources, tools};

/// One call.
pub(crate) struct Call<'a> {
    pub(crate) handler: &'a Handler,
    pub(crate) request: CallToolRequestParams,
    pub(crate) cx: RequestContext<RoleServer>,
}

impl Call<'_> {
    /// A text among its arguments.
    pub(crate) fn text(&self, name: &str) -> Result<&str, ErrorData> {
        let missing = || ErrorData::invalid_params(format!("the argument {name} is missing"), None);
        self.argument(name).and_then(Value::as_str).ok_or_else(missing)
    }

    /// One of its arguments.
    pub(crate) fn argument(&self, name: &str) -> Option<&Value> {
        self.request.arguments.as_ref()?.get(name)
    }

    /// Whether its client knows tasks.
    pub(crate) fn knows_tasks(&self) -> bool {
        self.cx.client_capabilities().is_some_and(|declared| declared.supports_tasks())
    }
}

/// A result that is one text.
pub(crate) fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A failure that the caller is to read.
pub(crate) fn failed(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

pub(crate) async fn call(
    handler: &Handler,
    request: CallToolRequestParams,
    cx: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let call = Call { handler, request, cx };
    let changes = &handler.shared.changes;
    let name = call.request.name.to_string();
    if let Some(result) = content::call(&name) {
        return Ok(result.into());
    }
    let made = |change: Change| {
        changes.make(change);
        Ok(said("Changed.").into())
    };
    match name.as_str() {
        "test_protocol_error" => Err(ErrorData::new(
            rmcp::model::ErrorCode(-32099),
            "As it was meant to fail",
            Some(json!({"b": 1, "a": [2]})),
        )),
        "test_structured" => structured(&call),
        "test_echo" => Ok(echo(&call).into()),
        "test_header_params" => Ok(said(format!("The region is {}", call.text("region")?)).into()),
        "test_tool_with_logging" => telling::logs(&call).await,
        "test_logging_tool" => telling::all_levels(&call).await,
        "test_tool_with_progress" => telling::progress(&call).await,
        "test_until_cancelled" => telling::until_cancelled(&call).await,
        "test_cancelled_count" => Ok(said(handler.shared.cancelled().to_string()).into()),
        "test_reconnection" => telling::reconnection(&call).await,
        "test_trigger_tool_change" => made(Change::Tools),
        "test_trigger_prompt_change" => made(Change::Prompts),
        "test_trigger_resource_change" => made(Change::Resources),
        "test_trigger_resource_update" => made(Change::Resource(resources::WATCHED.to_owned())),
        tools::SOMETIMES if changes.has_tool() => Ok(said("It is offered now.").into()),
        name if name.starts_with("test_input_required_result_") => input::call(&call).await,
        "greet" => Ok(said(format!("Hello, {}!", call.text("name")?)).into()),
        "slow_compute"
        | "failing_job"
        | "protocol_error_job"
        | "confirm_delete"
        | "multi_input"
        | "test_tool_with_task" => jobs::call(&call).await,
        _ => asking::call(&call).await,
    }
}

fn structured(call: &Call<'_>) -> Result<CallToolResponse, ErrorData> {
    let number = |name: &str| {
        let missing = || ErrorData::invalid_params(format!("the argument {name} is missing"), None);
        call.argument(name).and_then(Value::as_f64).ok_or_else(missing)
    };
    let sum = json!({"sum": number("a")? + number("b")?});
    let mut result = said(sum.to_string());
    result.structured_content = Some(sum);
    Ok(result.into())
}

/// The arguments and those of the metadata that are not the protocol's own.
fn echo(call: &Call<'_>) -> CallToolResult {
    let meta: JsonObject = call
        .cx
        .meta
        .iter()
        .filter(|(key, _)| !key.starts_with("io.modelcontextprotocol/") && *key != "progressToken")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let arguments = call.request.arguments.clone().unwrap_or_default();
    let mut result = said(Value::Object(arguments).to_string());
    result.meta = (!meta.is_empty()).then_some(rmcp::model::MetaObject(meta));
    result
}
