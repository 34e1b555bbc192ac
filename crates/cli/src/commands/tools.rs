//! `toolway tools`: what can be called, and calling it by hand.

mod call;

use clap::{Args, Subcommand};
use serde::Deserialize;
use toolway_types::RawJson;

use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Pairs, Table};
use crate::print::{escape, json, time};
use crate::report::Done;

/// What to do with tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools that can be called
    List(ListArgs),
    /// Show one tool: what it does, what it takes, what it gives
    Show(ShowArgs),
    /// Call a tool and print its result
    Call(call::CallArgs),
}

/// Flags of `tools list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only the tools of this source (a device's id, as `toolway devices list` shows it)
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Name of the tool, as `tools list` shows it; a bare name will do where only one source has it
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// A tool as the gateway shows it.
#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    id: String,
    source: String,
    status: String,
    title: Option<String>,
    description: String,
    parameters: Option<RawJson>,
    output_schema: Option<RawJson>,
    annotations: Option<RawJson>,
    #[serde(default)]
    permissions: Vec<String>,
    timeout_ms: u64,
    sequential: bool,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ToolList {
    tools: Vec<RawJson>,
}

/// Runs the command.
pub(crate) async fn run(command: ToolsCommand, context: &Context) -> Done {
    match command {
        ToolsCommand::List(args) => list(&args, context).await,
        ToolsCommand::Show(args) => show(&args, context).await,
        ToolsCommand::Call(args) => call::run(&args, context).await,
    }
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "tools"], &[]).await?;
    let printer = &context.printer;
    if printer.json && args.source.is_none() {
        return printer.raw_json(&text);
    }
    let mut table =
        Table::new(vec![Column::whole("name"), Column::whole("status"), Column::cut("description", 12)]);
    let mut kept = Vec::new();
    for raw in read::<ToolList>(&text)?.tools {
        let tool: Tool = read(raw.get())?;
        if args.source.as_ref().is_some_and(|source| *source != tool.source) {
            continue;
        }
        let style = if tool.status == "ready" { Style::Good } else { Style::Warning };
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.row(vec![
            Cell::styled(&tool.name, Style::Name),
            Cell::styled(&tool.status, style),
            first_line.into(),
        ]);
        kept.push(raw);
    }
    if printer.json {
        return printer.json_value(&serde_json::json!({ "tools": kept }));
    }
    let empty = match &args.source {
        Some(source) => {
            format!("{source} offers no tools now; `toolway devices list` shows who is connected")
        }
        None => {
            "no tools are offered now; `toolway pair` lets a device in, `toolway devices list` shows who is \
                 connected"
                .to_owned()
        }
    };
    printer.table(&table, &empty)
}

async fn show(args: &ShowArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "tools", &args.name], &[]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let tool: Tool = read(&text)?;
    let mut pairs = Pairs::default();
    pairs.add("name", &tool.name);
    pairs.add("id", &tool.id);
    pairs.maybe("title", tool.title);
    pairs.add("status", &tool.status);
    pairs.add("description", if tool.description.is_empty() { "(none)" } else { &tool.description });
    #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
    pairs.add("time limit", time::duration(tool.timeout_ms as f64));
    if tool.sequential {
        pairs.add("calls", "one after the other");
    }
    if !tool.permissions.is_empty() {
        pairs.add("permissions", tool.permissions.join(", "));
    }
    if !tool.flags.is_empty() {
        pairs.add("odd", tool.flags.iter().map(|flag| flag.replace('_', " ")).collect::<Vec<_>>().join(", "));
    }
    for (label, value) in
        [("annotations", tool.annotations), ("arguments", tool.parameters), ("result", tool.output_schema)]
    {
        pairs.maybe(label, value.map(|raw| escape::json(&json::pretty(raw.get()))));
    }
    printer.pairs(&pairs)
}
