//! `toolway android call`: one call of one tool of an app, without a gateway.

use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::time::Instant;
use toolway_android::execute::run_once;
use toolway_android::provider::Provider;
use toolway_core::Schema;
use toolway_types::{Code, Envelope, JsonObject, Outcome, SpecDocument, ToolError};

use super::phone::{Phone, PhoneArgs};
use super::shown;
use crate::commands::tools::call::arguments;
use crate::commands::tools::outcome::{Recorded, show};
use crate::context::Context;
use crate::report::{Done, Failure};
use crate::when::Span;

/// Flags of `android call`.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Authority of the app's provider, as `android scan` shows it
    authority: String,
    /// Name of the tool, with or without the app's name before it
    tool: String,
    /// Arguments as a JSON object, or - to read it from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// How long to wait at most, as 10s or 2m
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: Span,
    #[command(flatten)]
    phone: PhoneArgs,
}

/// The outcome, in the form in which the gateway gives it.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    call_id: &'a str,
    duration_ms: f64,
    #[serde(flatten)]
    envelope: Envelope<'a>,
}

pub(super) async fn run(args: &CallArgs, context: &Context) -> Done {
    let given = arguments(&args.arguments)?;
    let patience = u64::try_from(args.timeout.0).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
    let patience = patience.ok_or_else(|| Failure::usage("--timeout must be more than 0"))?;
    let phone = Phone::new(&args.phone, context)?;
    let provider = phone.provider(&args.authority, Phone::list_patience()).await?;
    let tool = tool(&provider, &args.tool)?;
    let serde_json::Value::Object(object) = given.to_value() else {
        return Err(Failure::usage("the arguments are JSON, but not an object"));
    };
    let call_id = uuid::Uuid::now_v7().to_string();
    let began = Instant::now();
    let result = match checked(tool, &object) {
        Err(error) => Err(error),
        Ok(()) => run_once(&phone.reach, &provider, &tool.name, &object, &call_id, patience).await,
    };
    let outcome = Outcome::from(result);
    let answer = Answer {
        call_id: &call_id,
        duration_ms: began.elapsed().as_secs_f64() * 1000.0,
        envelope: Envelope(&outcome),
    };
    let answer = serde_json::to_string(&answer)
        .map_err(|error| Failure::new(format!("cannot write the outcome: {error}")))?;
    show(&answer, Recorded::Nowhere, context)
}

/// The tool of that name; why there is none otherwise.
fn tool<'p>(provider: &'p Provider, name: &str) -> Done<&'p SpecDocument> {
    let is_named = |tool: &&SpecDocument| {
        tool.name == name || provider.exposed(&tool.name).is_some_and(|exposed| exposed == name)
    };
    if let Some(tool) = provider.tools.iter().find(is_named) {
        return Ok(tool);
    }
    if let Some((reason, hint)) = shown::reason(provider) {
        return Err(Failure::new(format!("{}: {reason}", provider.title()))
            .code(shown::state(provider).0.replace(' ', "_"))
            .maybe_hint(hint));
    }
    let names: Vec<_> = provider.tools.iter().map(|tool| tool.name.as_str()).collect();
    Err(Failure::new(format!("{} has no tool {name:?}", provider.title()))
        .code("no_tool")
        .hint(format!("it has: {}", names.join(", "))))
}

/// Checks arguments as the gateway does before it sends them.
fn checked(tool: &SpecDocument, object: &JsonObject) -> Result<(), ToolError> {
    let schema = Schema::of_parameters(tool.parameters.as_ref())
        .map_err(|error| ToolError::new(Code::ToolFailed, error.to_string()))?;
    let violations = schema.violations(&serde_json::Value::Object(object.clone()));
    if violations.is_empty() {
        return Ok(());
    }
    Err(ToolError::new(Code::InvalidArguments, violations.join("; ")))
}
