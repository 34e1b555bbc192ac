//! `toolway calls`: the record of tool calls.

mod export;
mod filter;
mod list;
mod remove;
mod show;
mod tail;

use clap::Subcommand;
use serde::Deserialize;
use toolway_types::{RawJson, ToolId};

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

/// A recorded call as the gateway shows it.
#[derive(Debug, Deserialize)]
struct Call {
    call_id: String,
    name: String,
    tool: Option<String>,
    caller: String,
    role: Option<String>,
    door: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    turn: Option<String>,
    status: String,
    error_type: Option<String>,
    code: Option<String>,
    message: Option<String>,
    approved_by: Option<String>,
    #[serde(default)]
    hooks: Vec<String>,
    rule: Option<String>,
    started_ms: i64,
    duration_ms: Option<f64>,
    waiting_ms: Option<f64>,
    queued_ms: Option<f64>,
    running_ms: Option<f64>,
    attempts: Option<u32>,
    arguments: Option<RawJson>,
    ran_with: Option<RawJson>,
    outcome: Option<RawJson>,
}

impl Call {
    /// The tool's name as it is called.
    fn tool_name(&self) -> String {
        let exposed = |id: &String| id.parse::<ToolId>().ok().map(|id| id.full_name().to_string());
        self.tool.as_ref().and_then(exposed).unwrap_or_else(|| self.name.clone())
    }

    /// How it ended, with the style of that.
    fn status_text(&self) -> (&str, Style) {
        match (self.status.as_str(), &self.code) {
            ("success", _) => ("success", Style::Good),
            ("error", Some(code)) => (code, Style::Error),
            ("error", None) => ("error", Style::Error),
            (other, _) => (other, Style::Warning),
        }
    }

    fn duration_text(&self) -> String {
        self.duration_ms.map(time::format_duration).unwrap_or_default()
    }
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
    use super::Call;

    #[test]
    fn a_tool_is_named_as_it_is_called() {
        let named = |tool: &str| {
            let call = format!(
                r#"{{"call_id":"1","name":"given","tool":{tool},"caller":"owner","role":"owner","door":"rest",
                    "status":"success","started_ms":0}}"#
            );
            serde_json::from_str::<Call>(&call).unwrap().tool_name()
        };
        assert_eq!(named(r#""builtin/read_file""#), "read_file");
        assert_eq!(named(r#""pixel-8/camera""#), "pixel-8__camera");
        assert_eq!(named("null"), "given");
    }
}
