//! `toolway approvals watch`: questions as they come. While it runs, calls wait for an answer.

use std::collections::HashMap;

use clap::Args;

use crate::asking::question::{Over, Question};
use crate::asking::{self, Asking};
use crate::client::{Client, ConnectArgs, Event, read};
use crate::context::Context;
use crate::principals::Principals;
use crate::print::escape;
use crate::print::style::Style;
use crate::report::{Done, Failure};

/// Flags of `approvals watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Only show the questions, also where somebody could be asked
    #[arg(long)]
    no_ask: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Watches until interrupted, or until the gateway ends it.
pub(super) async fn run(args: &WatchArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    let asks = !args.no_ask && asking::possible(context) && context.printer.stdout().is_terminal;
    if asks { ask(&client, context).await } else { print(&client, context).await }?;
    Err(Failure::new("the gateway ended the stream of questions")
        .code("connection_lost")
        .hint("it may be shutting down; calls that waited for an answer end without one"))
}

async fn ask(client: &Client, context: &Context) -> Done {
    // Names for people are a help; without them there are ids.
    let labels = Principals::of(client).await.map(Principals::labels).unwrap_or_default();
    let mut events = client.listen(&["api", "approvals", "watch"], &[]).await?;
    context.printer.note("waiting for questions; Ctrl-C ends it");
    let mut asking = Asking::new(client, labels, context);
    while let Some(event) = asking.next(&mut events).await? {
        missed(&event, context);
    }
    Ok(())
}

async fn print(client: &Client, context: &Context) -> Done {
    let mut events = client.listen(&["api", "approvals", "watch"], &[]).await?;
    context.printer.note("waiting for questions; Ctrl-C ends it");
    // What an event that only has an id is about.
    let mut tools = HashMap::new();
    while let Some(event) = events.next().await? {
        missed(&event, context);
        if !matches!(event.kind.as_str(), "asked" | "over") {
            continue;
        }
        if context.printer.json {
            context.printer.raw_json(&event.with_kind())?;
            continue;
        }
        let line = match event.kind.as_str() {
            "asked" => {
                let question: Question = read(&event.data)?;
                let line = asked(&question, context);
                tools.insert(question.id, question.tool_id);
                line
            }
            _ => {
                let over: Over = read(&event.data)?;
                let tool = tools.remove(&over.id).unwrap_or_default();
                ended(&over, &tool, context)
            }
        };
        context.printer.line(&line)?;
    }
    Ok(())
}

fn missed(event: &Event, context: &Context) {
    if event.kind == "missed" {
        context.printer.note(&format!(
            "(this was too slow for {}; `toolway approvals list` shows what is open)",
            event.data
        ));
    }
}

fn asked(question: &Question, context: &Context) -> String {
    let printer = &context.printer;
    format!(
        "{}  {}  {}  {}  {}: {}  {}",
        printer.paint(Style::Faint, &context.moments().local(question.asked_ms)),
        printer.paint(Style::Warning, "asked"),
        escape::line(&question.id),
        printer.paint(Style::Name, &escape::line(&question.tool_id)),
        escape::line(&question.principal),
        escape::line(&question.reason),
        escape::line(question.arguments.get()),
    )
}

fn ended(over: &Over, tool: &str, context: &Context) -> String {
    let printer = &context.printer;
    format!(
        "{}  {}  {}  {}  {}",
        printer.paint(Style::Faint, &context.moments().local(context.now_ms())),
        printer.paint(Style::Good, "over "),
        escape::line(&over.id),
        printer.paint(Style::Name, &escape::line(tool)),
        escape::line(&over.in_words()),
    )
}
