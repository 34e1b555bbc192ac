//! `toolway tools call`: one call by hand. The result goes to standard output, progress and questions to standard
//! error. Whoever sits at the terminal is asked what the call needs a person for; where nobody does, the call ends
//! at once if nobody else is there who may answer.

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
    /// Name of the tool, as `tools list` shows it; a bare name will do where only one source has it
    name: String,
    /// Arguments, as a JSON object; - reads them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// How long to wait at most, as 10s or 2m; the tool's own limit holds as well
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationArg>,
    /// Makes the same call again safe for ten minutes: it runs once and both get its outcome
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Don't ask here what the call needs a person for
    #[arg(long)]
    non_interactive: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(super) async fn run(args: &CallToolArgs, context: &CliContext) -> CliResult {
    let arguments = parse_arguments(&args.arguments)?;
    if args.timeout.is_some_and(|timeout| timeout.0 == 0) {
        return Err(CliError::usage("--timeout must be more than 0"));
    }
    // Standard input that the arguments came from has nobody behind it.
    let asks = !args.non_interactive && args.arguments != "-" && approval_prompt::is_available(context);
    let body = CallToolRequest {
        args: Some(arguments),
        timeout_ms: args.timeout.map(|timeout| timeout.0.unsigned_abs()),
        idempotency_key: args.idempotency_key.clone(),
        interactive: asks,
    };
    let client = context.client(&args.connect)?;
    let path = ["api", "tools", &args.name, "call"];
    // Progress is for somebody who watches.
    let watched = context.printer.stderr().is_terminal && !context.printer.json;
    let answer = if watched {
        call_with_events(&client, &path, &body, context).await?
    } else {
        client.send_and_wait(reqwest::Method::POST, &path, &body).await?
    };
    print_outcome(&answer, RecordLocation::GatewayRecord, context)
}

/// The arguments as they were given, if they are a JSON object.
pub(crate) fn parse_arguments(given: &str) -> CliResult<RawJson> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text).map_err(|error| {
            CliError::new(format!("cannot read the arguments: {}", crate::error::io_error_message(&error)))
        })?;
    }
    let hint = "write them as a JSON object in single quotes: '{\"limit\": 5}'";
    let text = if text.trim().is_empty() { "{}" } else { text.trim() };
    let raw = RawJson::parse(text)
        .map_err(|error| CliError::usage(format!("the arguments are not JSON: {error}")).with_hint(hint))?;
    if !raw.get().starts_with('{') {
        return Err(CliError::usage("the arguments are JSON, but not an object").with_hint(hint));
    }
    Ok(raw)
}

/// Calls, shows progress, and asks, until the outcome is there.
async fn call_with_events(
    client: &GatewayClient,
    path: &[&str],
    body: &CallToolRequest,
    context: &CliContext,
) -> CliResult<String> {
    let mut events = client.post_for_events(path, body).await?;
    // Whoever calls knows who calls: no names are needed.
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
    Err(CliError::new("the gateway ended the answer before the outcome was there")
        .with_code("connection_lost")
        .with_hint("`toolway calls list` shows what became of the call"))
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
        // Without a total a device says a part of one.
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
