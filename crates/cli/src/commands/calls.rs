//! `toolway calls`: the record of tool calls.

mod export;
mod filter;
mod list;
mod remove;
mod show;
mod tail;

use clap::Subcommand;
use toolway_api::calls::CallSummary;
use toolway_types::ToolId;

use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::time;

/// What to do with the record.
#[derive(Debug, Subcommand)]
pub(crate) enum CallsCommand {
    /// List calls, the newest first
    List(list::ListCallsArgs),
    /// Show one call: who called, with what, who let it run, and what came of it
    Show(show::ShowCallArgs),
    /// Print calls as they end, until interrupted
    Tail(tail::TailCallsArgs),
    /// Write calls with their arguments and outcomes, for other programs
    Export(export::ExportCallsArgs),
    /// Remove the records of single calls
    Remove(remove::RemoveCallsArgs),
    /// Remove the records of old calls
    Purge(remove::PurgeCallsArgs),
}

/// The tool's name in calls.
fn tool_name(call: &CallSummary) -> String {
    let exposed = |id: &String| id.parse::<ToolId>().ok().map(|id| id.full_name().to_string());
    call.tool_id.as_ref().and_then(exposed).unwrap_or_else(|| call.name.clone())
}

/// The end of a call, with its style.
fn status_text(call: &CallSummary) -> (&str, Style) {
    match (call.status.as_str(), &call.code) {
        ("success", _) => ("success", Style::Good),
        ("error", Some(code)) => (code, Style::Error),
        ("error", None) => ("error", Style::Error),
        (other, _) => (other, Style::Warning),
    }
}

fn duration_text(call: &CallSummary) -> String {
    call.duration_ms.map(time::format_duration).unwrap_or_default()
}

/// Runs the command.
pub(crate) async fn run(command: CallsCommand, context: &CliContext) -> CliResult {
    match command {
        CallsCommand::List(args) => list::run(&args, context).await,
        CallsCommand::Show(args) => show::run(&args, context).await,
        CallsCommand::Tail(args) => tail::run(&args, context).await,
        CallsCommand::Export(args) => export::run(&args, context).await,
        CallsCommand::Remove(args) => remove::run(&args, context).await,
        CallsCommand::Purge(args) => remove::purge(&args, context).await,
    }
}

#[cfg(test)]
mod tests {
    use super::{CallSummary, tool_name};

    #[test]
    fn a_tool_is_named_as_it_is_called() {
        let named = |tool: &str| {
            let call = format!(
                r#"{{"call_id":"1","name":"given","tool_id":{tool},"principal":"owner","role":"owner","via":"rest",
                    "status":"success","started_ms":0}}"#
            );
            tool_name(&serde_json::from_str::<CallSummary>(&call).unwrap())
        };
        assert_eq!(named(r#""builtin/read_file""#), "read_file");
        assert_eq!(named(r#""pixel-8/camera""#), "pixel-8__camera");
        assert_eq!(named("null"), "given");
    }
}
