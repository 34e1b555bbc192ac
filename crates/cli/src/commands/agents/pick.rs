//! `toolway agents pick`: the tools that an agent may use, ticked in a list. At a terminal the list is gone through with
//! the keys; elsewhere it is printed with numbers, and a line says which.

mod checklist;
mod numbers;
#[cfg(unix)]
mod screen;

use clap::Args;
use serde_json::json;
use toolway_types::ToolId;

use super::{Tool, get, patterns, put, scope, tools};
use crate::client::ConnectArgs;
use crate::context::Context;
use crate::print::escape;
use crate::report::{Done, Failure};
use checklist::{Checklist, Item};

/// Flags of `agents pick`.
#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// Name of the agent, as `agents list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &PickArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    let mut definition = get(&args.name, &client).await?.definition;
    let scope = scope(&definition)?;
    let mut ids = Vec::new();
    let mut items = Vec::new();
    for tool in tools(&client).await? {
        let Ok(id) = tool.id.parse::<ToolId>() else { continue };
        items.push(item(&tool, scope.includes(&id)));
        ids.push(id);
    }
    if items.is_empty() {
        return Err(Failure::new("there are no tools now that could be ticked")
            .code("no_tools")
            .hint("`toolway pair` lets a device in, which brings its tools")
            .hint(format!("`toolway agents set {} --tools` says beforehand which it may use", args.name)));
    }
    let ticks = ask(Checklist::new(&args.name, items), context).await?;
    let ticked: Vec<_> = ids.iter().zip(ticks.iter().copied()).collect();
    definition.tools = patterns::for_ticks(&definition.tools, &ticked);
    put(&definition, &client).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "tools": definition.tools}));
    }
    let count = ticks.iter().filter(|ticked| **ticked).count();
    context.printer.line(&escape::line(&format!("{} may use {count} of {} tools", args.name, ids.len())))
}

fn item(tool: &Tool, ticked: bool) -> Item {
    Item {
        name: escape::line(&tool.name),
        does: escape::prose(tool.does()),
        needs: escape::line(&tool.permissions.join(", ")),
        ticked,
    }
}

/// The ticks that somebody wants.
async fn ask(list: Checklist, context: &Context) -> Done<Vec<bool>> {
    #[cfg(unix)]
    if context.environment.stdin_is_terminal && context.printer.stderr().height.is_some() {
        return screen::ask(list, context).await;
    }
    numbers::ask(list, context).await
}

/// Nothing is to be changed.
fn cancelled() -> Failure {
    Failure::new("nothing was changed").code("cancelled").hint("Enter keeps what is ticked")
}
