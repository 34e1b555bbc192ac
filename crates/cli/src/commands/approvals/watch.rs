//! `toolway approvals watch`: prints approvals as they arrive. While it runs, calls that need approval wait for an
//! answer.

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
    /// Only print approvals; do not ask for answers
    #[arg(long)]
    non_interactive: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Watches until the user interrupts or the gateway ends the stream.
pub(super) async fn run(args: &WatchApprovalsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let asks = !args.non_interactive
        && approval_prompt::is_available(context)
        && context.printer.stdout().is_terminal;
    if asks { answer_interactively(&client, context).await } else { print_events(&client, context).await }?;
    Err(CliError::new("the gateway closed the approval stream")
        .with_code("connection_lost")
        .with_hint("it may be shutting down; pending approvals expire"))
}

async fn answer_interactively(client: &GatewayClient, context: &CliContext) -> CliResult {
    // Labels are optional; without them, ids are shown.
    let labels = PrincipalList::fetch(client).await.map(PrincipalList::labels).unwrap_or_default();
    let mut events = client.subscribe(&["api", "approvals", "watch"], &[]).await?;
    context.printer.note("waiting for approvals; press Ctrl-C to stop");
    let mut asking = ApprovalPrompter::new(client, labels, context);
    while let Some(event) = asking.next_event(&mut events).await? {
        warn_missed_events(&event, context);
    }
    Ok(())
}

async fn print_events(client: &GatewayClient, context: &CliContext) -> CliResult {
    let mut events = client.subscribe(&["api", "approvals", "watch"], &[]).await?;
    context.printer.note("waiting for approvals; press Ctrl-C to stop");
    // Tools by approval id, because the resolution event has only the id.
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
            "(missed {} events; `toolway approvals list` shows pending approvals)",
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
