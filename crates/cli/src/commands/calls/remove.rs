//! `toolway calls remove` and `toolway calls purge`: delete records of calls.

use clap::Args;
use reqwest::Method;
use serde_json::{Map, Value, json};
use toolway_api::calls::PurgeCallsResponse;

use super::filter::CallFilterArgs;
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::time;
use crate::time_args::TimeArg;

/// Flags of `calls remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveCallsArgs {
    /// Ids of the calls, as `calls list` shows them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `calls purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeCallsArgs {
    /// Delete calls that started before this time: an age like 30d, or a date like 2026-09-01; 0s deletes all that
    /// match the filters
    #[arg(long, value_name = "WHEN")]
    before: TimeArg,
    #[command(flatten)]
    filter: CallFilterArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &RemoveCallsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    for id in &args.ids {
        client.send_empty(Method::DELETE, &["api", "calls", id]).await?;
        if !context.printer.json {
            context.printer.line(&format!("removed {id}"))?;
        }
    }
    if context.printer.json {
        context.printer.json_value(&json!({"removed": args.ids}))?;
    }
    Ok(())
}

pub(super) async fn purge(args: &PurgeCallsArgs, context: &CliContext) -> CliResult {
    let now = context.now_ms();
    let before_ms = args.before.past_ms(now, &context.zone());
    if before_ms > now {
        return Err(
            CliError::usage("--before must be in the past").with_hint("use a past date, or an age like 30d")
        );
    }
    let filter = args.filter.query_pairs().into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let mut body: Map<String, Value> = filter.collect();
    let narrowed = if body.is_empty() { "" } else { " matching" };
    body.insert("before_ms".to_owned(), before_ms.into());
    let client = context.client(&args.connect)?;
    let text = client.send_and_wait(Method::POST, &["api", "calls", "purge"], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let PurgeCallsResponse { removed, freed_bytes } = parse_response(&text)?;
    context.printer.line(&format!(
        "removed {removed}{narrowed} calls from before {}, freed {}",
        context.time_formatter().format_local(before_ms),
        time::format_bytes(freed_bytes)
    ))
}
