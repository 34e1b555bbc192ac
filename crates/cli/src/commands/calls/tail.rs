//! `toolway calls tail`: prints calls as they end.

use clap::Args;
use toolway_api::calls::CallSummary;
use toolway_api::event_stream::{CALL, LAGGED};

use super::{duration_text, status_text, tool_name};
use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::style::Style;

/// Flags of `calls tail`.
#[derive(Debug, Args)]
pub(crate) struct TailCallsArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Prints until the user interrupts or the gateway ends the stream.
pub(super) async fn run(args: &TailCallsArgs, context: &CliContext) -> CliResult {
    let mut events = context.client(&args.connect)?.subscribe(&["api", "calls", "tail"], &[]).await?;
    context.printer.note("waiting for calls; press Ctrl-C to stop");
    while let Some(event) = events.next_event().await? {
        if event.kind == LAGGED {
            context.printer.note(&format!("(missed {} calls; see `toolway calls list`)", event.data));
        }
        if event.kind != CALL {
            continue;
        }
        if context.printer.json {
            context.printer.raw_json(&event.data)?;
        } else {
            let call: CallSummary = parse_response(&event.data)?;
            context.printer.line(&call_line(&call, context))?;
        }
    }
    Err(CliError::new("the gateway closed the call stream")
        .with_code("connection_lost")
        .with_hint("it may be shutting down; `toolway calls list` shows recorded calls"))
}

fn call_line(call: &CallSummary, context: &CliContext) -> String {
    let printer = &context.printer;
    let (ending, style) = status_text(call);
    let mut line = format!(
        "{}  {}  {}  {}  {}",
        printer.paint(Style::Faint, &context.time_formatter().format_local(call.started_ms)),
        printer.paint(Style::Name, &escape::line(&tool_name(call))),
        printer.paint(style, &escape::line(ending)),
        duration_text(call),
        escape::line(&call.principal),
    );
    if let Some(message) = &call.message {
        line.push_str(&format!("  {}", escape::line(message)));
    }
    line
}
