//! `toolway tools call`: calls a tool. The result goes to standard output, progress and approvals to standard error. If
//! the call needs approval, the user at the terminal is asked; without a terminal, the call fails immediately unless
//! another principal watches approvals.

use std::collections::HashMap;
use std::io::Read;

use clap::Args;
use toolway_api::event_stream::{OUTCOME, PROGRESS};
use toolway_api::tools::{CallProgress, CallToolRequest};
use toolway_types::RawJson;

use super::outcome::{RecordLocation, print_outcome};
use crate::approval_prompt::{self, ApprovalPrompter};
use crate::client::{ConnectArgs, GatewayClient, GatewayEvent, GatewayEventStream, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::time_args::DurationArg;

/// Flags of `tools call`.
#[derive(Debug, Args)]
pub(crate) struct CallToolArgs {
    /// Name of the tool, as `tools list` shows it, or its short name if that is unique
    name: String,
    /// Arguments as a JSON object (- for standard input)
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// Maximum time to wait, for example 10s or 2m; the tool's own limit also applies
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationArg>,
    /// Idempotency key: a repeated call within ten minutes returns the first result without running again
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Do not ask for approvals at this terminal
    #[arg(long)]
    non_interactive: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(super) async fn run(args: &CallToolArgs, context: &CliContext) -> CliResult {
    let arguments = parse_arguments(&args.arguments)?;
    if args.timeout.is_some_and(|timeout| timeout.0 == 0) {
        return Err(CliError::usage("--timeout must be greater than 0"));
    }
    // Standard input with the arguments cannot answer approvals.
    let asks = !args.non_interactive && args.arguments != "-" && approval_prompt::is_available(context);
    let body = CallToolRequest {
        args: Some(arguments),
        timeout_ms: args.timeout.map(|timeout| timeout.0.unsigned_abs()),
        idempotency_key: args.idempotency_key.clone(),
        interactive: asks,
    };
    let client = context.client(&args.connect)?;
    let path = ["api", "tools", &args.name, "call"];
    // Only people need progress.
    let watched = context.printer.stderr().is_terminal && !context.printer.json;
    let answer = if watched {
        call_with_events(&client, &path, &body, context).await?
    } else {
        client.send_and_wait(reqwest::Method::POST, &path, &body).await?
    };
    print_outcome(&answer, RecordLocation::GatewayRecord, context)
}

/// Parses the arguments, which must be a JSON object.
pub(crate) fn parse_arguments(given: &str) -> CliResult<RawJson> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).map_err(|error| {
            CliError::new(format!("cannot read the arguments: {}", crate::error::io_error_message(&error)))
        })?;
    }
    let hint = "use a JSON object in single quotes: '{\"limit\": 5}'";
    let text = if text.trim().is_empty() { "{}" } else { text.trim() };
    let raw = RawJson::parse(text).map_err(|error| {
        CliError::usage(format!("the arguments are not valid JSON: {error}")).with_hint(hint)
    })?;
    if !raw.get().starts_with('{') {
        return Err(CliError::usage("the arguments must be a JSON object").with_hint(hint));
    }
    Ok(raw)
}

/// Calls the tool, prints progress and asks for approvals until the result arrives.
async fn call_with_events(
    client: &GatewayClient,
    path: &[&str],
    body: &CallToolRequest,
    context: &CliContext,
) -> CliResult<String> {
    let mut events = client.post_for_events(path, body).await?;
    // The caller is the user, so no labels are needed.
    let mut asking = body.interactive.then(|| ApprovalPrompter::new(client, HashMap::new(), context));
    while let Some(event) = next_event(&mut events, asking.as_mut()).await? {
        match event.kind.as_str() {
            OUTCOME => return Ok(event.data),
            PROGRESS => {
                let progress: CallProgress = parse_response(&event.data)?;
                context.printer.status(&describe_progress(&progress));
            }
            _ => {}
        }
    }
    Err(CliError::new("the gateway closed the stream before the result arrived")
        .with_code("connection_lost")
        .with_hint("check the call with `toolway calls list`"))
}

async fn next_event(
    events: &mut GatewayEventStream,
    asking: Option<&mut ApprovalPrompter<'_>>,
) -> CliResult<Option<GatewayEvent>> {
    match asking {
        Some(asking) => asking.next_event(events).await,
        None => events.next_event().await,
    }
}

fn describe_progress(progress: &CallProgress) -> String {
    let amount = match progress.total {
        Some(total) if total > 0.0 => format!("{:.0} %", 100.0 * progress.progress / total),
        // Without a total, devices report a fraction of one.
        _ if (0.0..=1.0).contains(&progress.progress) => format!("{:.0} %", 100.0 * progress.progress),
        _ => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{amount}  {}", escape::line(message)),
        None => amount,
    }
}

#[cfg(test)]
mod tests;
