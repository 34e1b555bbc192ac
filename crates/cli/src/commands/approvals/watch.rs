//! `toolway approvals watch`: questions as they come. While it runs, calls wait for an answer.

use std::collections::HashMap;

use clap::Args;
use toolway_api::approvals::{ApprovalResolved, PendingApproval};
use toolway_api::event_stream::{APPROVAL_REQUESTED, APPROVAL_RESOLVED, LAGGED};

use crate::approval_prompt::approval::describe_resolution;
use crate::approval_prompt::{self, ApprovalPrompter};
use crate::client::{ConnectArgs, GatewayClient, GatewayEvent, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::principals::PrincipalList;
use crate::print::escape;
use crate::print::style::Style;

/// Flags of `approvals watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchApprovalsArgs {
    /// Only show the questions, also where somebody could be asked
    #[arg(long)]
    non_interactive: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Watches until interrupted, or until the gateway ends it.
pub(super) async fn run(args: &WatchApprovalsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let asks = !args.non_interactive
        && approval_prompt::is_available(context)
        && context.printer.stdout().is_terminal;
    if asks { answer_interactively(&client, context).await } else { print_events(&client, context).await }?;
    Err(CliError::new("the gateway ended the stream of questions")
        .with_code("connection_lost")
        .with_hint("it may be shutting down; calls that waited for an answer end without one"))
}

async fn answer_interactively(client: &GatewayClient, context: &CliContext) -> CliResult {
    // Names for people are a help; without them there are ids.
    let labels = PrincipalList::fetch(client).await.map(PrincipalList::labels).unwrap_or_default();
    let mut events = client.subscribe(&["api", "approvals", "watch"], &[]).await?;
    context.printer.note("waiting for questions; Ctrl-C ends it");
    let mut asking = ApprovalPrompter::new(client, labels, context);
    while let Some(event) = asking.next_event(&mut events).await? {
        warn_missed_events(&event, context);
    }
    Ok(())
}

async fn print_events(client: &GatewayClient, context: &CliContext) -> CliResult {
    let mut events = client.subscribe(&["api", "approvals", "watch"], &[]).await?;
    context.printer.note("waiting for questions; Ctrl-C ends it");
    // What an event that only has an id is about.
    let mut tools = HashMap::new();
    while let Some(event) = events.next_event().await? {
        warn_missed_events(&event, context);
        if !matches!(event.kind.as_str(), APPROVAL_REQUESTED | APPROVAL_RESOLVED) {
            continue;
        }
        if context.printer.json {
            context.printer.raw_json(&event.to_json_with_kind())?;
            continue;
        }
        let line = match event.kind.as_str() {
            APPROVAL_REQUESTED => {
                let question: PendingApproval = parse_response(&event.data)?;
                let line = question_line(&question, context);
                tools.insert(question.id, question.tool_id);
                line
            }
            _ => {
                let over: ApprovalResolved = parse_response(&event.data)?;
                let tool = tools.remove(&over.id).unwrap_or_default();
                closed_line(&over, &tool, context)
            }
        };
        context.printer.line(&line)?;
    }
    Ok(())
}

fn warn_missed_events(event: &GatewayEvent, context: &CliContext) {
    if event.kind == LAGGED {
        context.printer.note(&format!(
            "(this was too slow for {}; `toolway approvals list` shows what is open)",
            event.data
        ));
    }
}

fn question_line(question: &PendingApproval, context: &CliContext) -> String {
    let printer = &context.printer;
    format!(
        "{}  {}  {}  {}  {}: {}  {}",
        printer.paint(Style::Faint, &context.time_formatter().format_local(question.created_ms)),
        printer.paint(Style::Warning, "asked"),
        escape::line(&question.id),
        printer.paint(Style::Name, &escape::line(&question.tool_id)),
        escape::line(&question.principal),
        escape::line(&question.reason),
        escape::line(question.arguments.get()),
    )
}

fn closed_line(over: &ApprovalResolved, tool: &str, context: &CliContext) -> String {
    let printer = &context.printer;
    format!(
        "{}  {}  {}  {}  {}",
        printer.paint(Style::Faint, &context.time_formatter().format_local(context.now_ms())),
        printer.paint(Style::Good, "over "),
        escape::line(&over.id),
        printer.paint(Style::Name, &escape::line(tool)),
        escape::line(&describe_resolution(over)),
    )
}
