//! `toolway tools`: lists, calls, accepts and defines tools.

pub(crate) mod call;
mod conversion;
pub(crate) mod outcome;
pub(crate) mod own_tools;
mod tool_changes;
mod trial;

use clap::{Args, Subcommand};
use toolway_api::tools::{CallableToolList, ToolView};
use toolway_types::RawJson;

use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{LabeledValues, TableCell, TableColumn, TextTable};
use crate::print::{escape, json, time};

/// Subcommands of `toolway tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools that you can call
    #[command(after_help = "Example:\n  toolway tools list --source pixel-8")]
    List(ListToolsArgs),
    /// Show a tool's description, arguments and result
    #[command(
        after_help = "Examples:\n  toolway tools show read_file\n  toolway tools show read_file --for anthropic"
    )]
    Show(ShowToolArgs),
    /// Call a tool and print its result
    #[command(
        after_help = "Examples:\n  toolway tools call read_file '{\"path\": \"notes.md\"}'\n  toolway tools call pixel-8__camera --timeout 2m"
    )]
    Call(call::CallToolArgs),
    /// Show what changed in a tool since you last accepted it
    #[command(after_help = "Example:\n  toolway tools diff pixel-8__camera")]
    Diff(tool_changes::DiffToolArgs),
    /// Accept the current version of a changed tool
    #[command(after_help = "Example:\n  toolway tools accept pixel-8__camera")]
    Accept(tool_changes::AcceptToolArgs),
    /// Define a tool of your own: a command or an HTTP request on the gateway's computer
    #[command(after_help = "Example:\n  toolway tools add weather.toml")]
    Add(own_tools::AddOwnToolArgs),
    /// Remove a tool of your own
    #[command(after_help = "Example:\n  toolway tools remove own/weather")]
    Remove(own_tools::RemoveOwnToolArgs),
    /// Run a tool of your own once, without a gateway
    #[command(after_help = "Example:\n  toolway tools test weather.toml '{\"city\": \"Bern\"}'")]
    Test(own_tools::TestOwnToolArgs),
}

/// Flags of `tools list`.
#[derive(Debug, Args)]
pub(crate) struct ListToolsArgs {
    /// Only tools of this source: a device's id from `toolway devices list`, builtin, or own
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools show`.
#[derive(Debug, Args)]
pub(crate) struct ShowToolArgs {
    /// Name of the tool, as `tools list` shows it, or its short name if that is unique
    name: String,
    /// Show the definition that models of this API get, and what it loses: openai, openai-strict, openai-responses,
    /// anthropic, gemini, compatible, or the name of a model provider
    #[arg(long = "for", value_name = "API")]
    target: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) async fn run(command: ToolsCommand, context: &CliContext) -> CliResult {
    match command {
        ToolsCommand::List(args) => list(&args, context).await,
        ToolsCommand::Show(args) => show(&args, context).await,
        ToolsCommand::Call(args) => call::run(&args, context).await,
        ToolsCommand::Diff(args) => tool_changes::diff(&args, context).await,
        ToolsCommand::Accept(args) => tool_changes::accept(&args, context).await,
        ToolsCommand::Add(args) => own_tools::add(&args, context).await,
        ToolsCommand::Remove(args) => own_tools::remove(&args, context).await,
        ToolsCommand::Test(args) => own_tools::test(&args, context).await,
    }
}

async fn list(args: &ListToolsArgs, context: &CliContext) -> CliResult {
    let text = context.client(&args.connect)?.get(&["api", "tools"], &[]).await?;
    let printer = &context.printer;
    if printer.json && args.source.is_none() {
        return printer.raw_json(&text);
    }
    let mut kept = Vec::new();
    let mut tools = Vec::new();
    for raw in parse_response::<CallableToolList<RawJson>>(&text)?.tools {
        let tool: ToolView = parse_response(raw.get())?;
        if args.source.as_ref().is_none_or(|source| *source == tool.source) {
            tools.push(tool);
            kept.push(raw);
        }
    }
    if printer.json {
        return printer.json_value(&serde_json::json!({ "tools": kept }));
    }
    let empty = match &args.source {
        Some(source) => {
            format!("{source} has no tools now; check the connection with `toolway devices list`")
        }
        None => "no tools; add a device with `toolway pair`, or check the connections with `toolway devices \
                 list`"
            .to_owned(),
    };
    printer.table(&table(&tools), &empty)
}

fn table(tools: &[ToolView]) -> TextTable {
    let has_notes = tools.iter().any(|tool| !notes_text(tool).is_empty());
    let note = has_notes.then(|| TableColumn::truncatable("note", 8).optional());
    let mut columns = vec![TableColumn::fixed("name"), TableColumn::fixed("status")];
    columns.extend(note);
    columns.push(TableColumn::truncatable("description", 12));
    let mut table = TextTable::new(columns);
    for tool in tools {
        let style = if tool.status == "ready" { Style::Good } else { Style::Warning };
        let note_style = if tool.flags.is_empty() { Style::Plain } else { Style::Warning };
        let mut row =
            vec![TableCell::styled(&tool.name, Style::Name), TableCell::styled(&tool.status, style)];
        row.extend(has_notes.then(|| TableCell::styled(notes_text(tool), note_style)));
        row.push(tool.description.lines().next().unwrap_or_default().into());
        table.add_row(row);
    }
    table
}

/// Returns the unusual properties of a tool.
fn flags_text(tool: &ToolView) -> String {
    tool.flags.iter().map(|flag| flag.replace('_', " ")).collect::<Vec<_>>().join(", ")
}

/// Returns the notes for the list: unusual properties and required permissions.
fn notes_text(tool: &ToolView) -> String {
    let needs = (!tool.permissions.is_empty()).then(|| format!("needs {}", tool.permissions.join(", ")));
    let odd = Some(flags_text(tool)).filter(|odd| !odd.is_empty());
    odd.into_iter().chain(needs).collect::<Vec<_>>().join("; ")
}

async fn show(args: &ShowToolArgs, context: &CliContext) -> CliResult {
    if let Some(target) = &args.target {
        return conversion::show(&args.name, target, &context.client(&args.connect)?, context).await;
    }
    let text = context.client(&args.connect)?.get(&["api", "tools", &args.name], &[]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let tool: ToolView = parse_response(&text)?;
    let mut pairs = LabeledValues::default();
    pairs.add("name", &tool.name);
    pairs.add("id", &tool.id);
    pairs.add_optional("title", tool.title.as_ref());
    pairs.add("status", &tool.status);
    pairs.add("description", if tool.description.is_empty() { "(none)" } else { &tool.description });
    #[allow(clippy::cast_precision_loss, reason = "shown to a person")]
    pairs.add("time limit", time::format_duration(tool.timeout_ms as f64));
    if tool.sequential {
        pairs.add("calls", "sequential");
    }
    if !tool.permissions.is_empty() {
        pairs.add("permissions", tool.permissions.join(", "));
    }
    if !tool.flags.is_empty() {
        pairs.add("flags", flags_text(&tool));
    }
    for (label, value) in
        [("annotations", tool.annotations), ("arguments", tool.parameters), ("result", tool.output_schema)]
    {
        pairs.add_optional(label, value.map(|raw| escape::json(&json::pretty(raw.get()))));
    }
    printer.pairs(&pairs)
}

#[cfg(test)]
mod tests;
