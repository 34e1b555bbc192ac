//! `toolway calls tail`: calls as they end.

use clap::Args;

use super::Call;
use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::escape;
use crate::print::style::Style;
use crate::report::{Done, Failure};

/// Flags of `calls tail`.
#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Prints until interrupted, or until the gateway ends it.
pub(super) async fn run(args: &TailArgs, context: &Context) -> Done {
    let mut events = context.client(&args.connect)?.listen(&["api", "calls", "tail"], &[]).await?;
    context.printer.note("waiting for calls; Ctrl-C ends it");
    while let Some(event) = events.next().await? {
        if event.kind == "missed" {
            context.printer.note(&format!("(this was too slow for {} calls; they are recorded)", event.data));
        }
        if event.kind != "call" {
            continue;
        }
        if context.printer.json {
            context.printer.raw_json(&event.data)?;
        } else {
            let call: Call = read(&event.data)?;
            context.printer.line(&line(&call, context))?;
        }
    }
    Err(Failure::new("the gateway ended the stream of calls")
        .code("connection_lost")
        .hint("it may be shutting down; `toolway calls list` shows what is recorded"))
}

fn line(call: &Call, context: &Context) -> String {
    let printer = &context.printer;
    let (ending, style) = call.ending();
    let mut line = format!(
        "{}  {}  {}  {}  {}",
        printer.paint(Style::Faint, &context.moments().local(call.started_ms)),
        printer.paint(Style::Name, &escape::line(&call.tool_name())),
        printer.paint(style, &escape::line(ending)),
        call.took(),
        escape::line(&call.caller),
    );
    if let Some(message) = &call.message {
        line.push_str(&format!("  {}", escape::line(message)));
    }
    line
}
