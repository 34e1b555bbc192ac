//! `toolway agents pick`: the tools that an agent may use, ticked in a list. At a terminal the list is gone through with
//! the keys; elsewhere it is printed with numbers, and a line says which.

mod checklist;
mod numbers;
#[cfg(unix)]
mod screen;

use clap::Args;
use serde_json::json;
use toolway_api::tools::ToolView;
use toolway_types::ToolId;

use super::{agent_scope, fetch_agent, fetch_tools, patterns, put_agent, tool_summary};
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use checklist::{Checklist, ChecklistItem};

/// Flags of `agents pick`.
#[derive(Debug, Args)]
pub(crate) struct PickAgentToolsArgs {
    /// Name of the agent, as `agents list` shows it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

pub(super) async fn run(args: &PickAgentToolsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let mut definition = fetch_agent(&args.name, &client).await?.definition;
    let scope = agent_scope(&definition)?;
    let mut ids = Vec::new();
    let mut items = Vec::new();
    for tool in fetch_tools(&client).await? {
        let Ok(id) = tool.id.parse::<ToolId>() else { continue };
        items.push(checklist_item(&tool, scope.includes(&id)));
        ids.push(id);
    }
    if items.is_empty() {
        return Err(CliError::new("there are no tools now that could be ticked")
            .with_code("no_tools")
            .with_hint("`toolway pair` lets a device in, which brings its tools")
            .with_hint(format!(
                "`toolway agents set {} --tools` says beforehand which it may use",
                args.name
            )));
    }
    let ticks = ask_selection(Checklist::new(&args.name, items), context).await?;
    let ticked: Vec<_> = ids.iter().zip(ticks.iter().copied()).collect();
    definition.tools = patterns::patterns_for_selection(&definition.tools, &ticked);
    put_agent(&definition, &client).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "tools": definition.tools}));
    }
    let count = ticks.iter().filter(|ticked| **ticked).count();
    context.printer.line(&escape::line(&format!("{} may use {count} of {} tools", args.name, ids.len())))
}

fn checklist_item(tool: &ToolView, ticked: bool) -> ChecklistItem {
    ChecklistItem {
        name: escape::line(&tool.name),
        description: escape::prose(tool_summary(tool)),
        permissions: escape::line(&tool.permissions.join(", ")),
        is_selected: ticked,
    }
}

/// The ticks that somebody wants.
async fn ask_selection(list: Checklist, context: &CliContext) -> CliResult<Vec<bool>> {
    #[cfg(unix)]
    if context.environment.stdin_is_terminal && context.printer.stderr().height.is_some() {
        return screen::run_checklist(list, context).await;
    }
    numbers::prompt_numbers(list, context).await
}

/// Nothing is to be changed.
fn cancelled() -> CliError {
    CliError::new("nothing was changed").with_code("cancelled").with_hint("Enter keeps what is ticked")
}
