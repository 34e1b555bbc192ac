//! `toolway android call`: calls one tool of an app, without a gateway.

use std::time::Duration;

use clap::Args;
use tokio::time::Instant;
use toolway_android::execution::run_once;
use toolway_android::provider::ToolProvider;
use toolway_api::tools::CallToolResponseRef;
use toolway_core::Schema;
use toolway_types::{CallId, Code, JsonObject, Outcome, ResultEnvelope, SpecDocument, ToolError};

use super::phone::{PhoneArgs, PhoneConnection};
use super::provider_output;
use crate::commands::tools::call::parse_arguments;
use crate::commands::tools::outcome::{RecordLocation, print_outcome};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::time_args::DurationArg;

/// Flags of `android call`.
#[derive(Debug, Args)]
pub(crate) struct CallProviderToolArgs {
    /// Authority of the app's provider, as `android scan` shows it
    authority: String,
    /// Name of the tool, with or without the app's prefix
    tool: String,
    /// Arguments as a JSON object (- for standard input)
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// Timeout, for example 10s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: DurationArg,
    #[command(flatten)]
    phone: PhoneArgs,
}

pub(super) async fn run(args: &CallProviderToolArgs, context: &CliContext) -> CliResult {
    let given = parse_arguments(&args.arguments)?;
    let timeout = u64::try_from(args.timeout.0).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
    let timeout = timeout.ok_or_else(|| CliError::usage("--timeout must be greater than 0"))?;
    let phone = PhoneConnection::new(&args.phone, context)?;
    let provider = phone.provider(&args.authority, PhoneConnection::list_timeout()).await?;
    let tool = find_tool(&provider, &args.tool)?;
    let serde_json::Value::Object(object) = given.to_value() else {
        return Err(CliError::usage("the arguments must be a JSON object"));
    };
    let call_id = CallId::new();
    let began = Instant::now();
    let result = match validate_arguments(tool, &object) {
        Err(error) => Err(error),
        Ok(()) => {
            run_once(&phone.connection, &provider, &tool.name, &object, &call_id.to_string(), timeout).await
        }
    };
    let outcome = Outcome::from(result);
    let answer = CallToolResponseRef {
        call_id,
        duration_ms: began.elapsed().as_secs_f64() * 1000.0,
        envelope: ResultEnvelope(&outcome),
        error: None,
    };
    let answer = serde_json::to_string(&answer)
        .map_err(|error| CliError::new(format!("cannot write the outcome: {error}")))?;
    print_outcome(&answer, RecordLocation::Nowhere, context)
}

/// Finds a tool by name; the error explains why it is missing.
fn find_tool<'p>(provider: &'p ToolProvider, name: &str) -> CliResult<&'p SpecDocument> {
    let is_named = |tool: &&SpecDocument| {
        tool.name == name || provider.exposed_name(&tool.name).is_some_and(|exposed| exposed == name)
    };
    if let Some(tool) = provider.tools.iter().find(is_named) {
        return Ok(tool);
    }
    if let Some((reason, hint)) = provider_output::state_reason(provider) {
        return Err(CliError::new(format!("{}: {reason}", provider.title()))
            .with_code(provider_output::provider_state(provider).0.replace(' ', "_"))
            .with_optional_hint(hint));
    }
    let names: Vec<_> = provider.tools.iter().map(|tool| tool.name.as_str()).collect();
    Err(CliError::new(format!("{} has no tool {name:?}", provider.title()))
        .with_code("tool_not_found")
        .with_hint(format!("available tools: {}", names.join(", "))))
}

/// Validates the arguments like the gateway does.
fn validate_arguments(tool: &SpecDocument, object: &JsonObject) -> Result<(), ToolError> {
    let schema = Schema::from_parameters(tool.parameters.as_ref())
        .map_err(|error| ToolError::new(Code::ToolFailed, error.to_string()))?;
    let violations = schema.violations(&serde_json::Value::Object(object.clone()));
    if violations.is_empty() {
        return Ok(());
    }
    Err(ToolError::new(Code::InvalidArguments, violations.join("; ")))
}
