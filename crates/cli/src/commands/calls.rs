//! `toolway calls`: lists, follows, exports and deletes recorded tool calls.

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

/// Subcommands of `toolway calls`.
#[derive(Debug, Subcommand)]
pub(crate) enum CallsCommand {
    /// List recorded calls, newest first
    #[command(
        after_help = "Examples:\n  toolway calls list --tool 'laptop/*' --since 2h\n  toolway calls list --status error"
    )]
    List(list::ListCallsArgs),
    /// Show one call with caller, arguments, approval and result
    #[command(after_help = "Example:\n  toolway calls show 0192f3a1-7c3e-7d51-9b5a-3f6f0a2b8c11")]
    Show(show::ShowCallArgs),
    /// Print calls as they end, until you press Ctrl-C
    #[command(after_help = "Example:\n  toolway calls tail")]
    Tail(tail::TailCallsArgs),
    /// Export calls with arguments and results as JSON Lines or CSV
    #[command(
        after_help = "Examples:\n  toolway calls export --since 7d --output calls.jsonl\n  toolway calls export --format csv > calls.csv"
    )]
    Export(export::ExportCallsArgs),
    /// Delete the records of single calls
    #[command(after_help = "Example:\n  toolway calls remove 0192f3a1-7c3e-7d51-9b5a-3f6f0a2b8c11")]
    Remove(remove::RemoveCallsArgs),
    /// Delete the records of old calls
    #[command(after_help = "Example:\n  toolway calls purge --before 30d")]
    Purge(remove::PurgeCallsArgs),
}

/// Returns the tool's exposed name.
fn tool_name(call: &CallSummary) -> String {
    let exposed = |id: &String| id.parse::<ToolId>().ok().map(|id| id.full_name().to_string());
    call.tool_id.as_ref().and_then(exposed).unwrap_or_else(|| call.name.clone())
}

/// Returns the status or error code with its style.
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
    fn calls_show_the_full_tool_name() {
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
