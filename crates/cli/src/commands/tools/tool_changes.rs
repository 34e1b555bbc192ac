//! `toolway tools diff` and `accept`: show and accept the changes of a tool.

use clap::Args;
use reqwest::Method;
use serde_json::json;
use toolway_api::tool_changes::{AcceptToolChangeRequest, ToolChange};

use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::escape;
use crate::print::style::Style;

/// Flags of `tools diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffToolArgs {
    /// Name of the tool, as `tools list` shows it, or its short name if that is unique
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tools accept`.
#[derive(Debug, Args)]
pub(crate) struct AcceptToolArgs {
    /// Name of the tool, as `tools list` shows it, or its short name if that is unique
    name: String,
    /// Fingerprint from `tools diff`: accept only exactly this version
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Prints the changes.
pub(super) async fn diff(args: &DiffToolArgs, context: &CliContext) -> CliResult {
    let text = context.client(&args.connect)?.get(&["api", "tools", &args.name, "changes"], &[]).await?;
    let printer = &context.printer;
    if printer.json {
        return printer.raw_json(&text);
    }
    let change: ToolChange = parse_response(&text)?;
    let tool = escape::line(&change.tool_id);
    if !change.changed {
        printer.note(&format!("{tool} has not changed since it was last accepted"));
        return Ok(());
    }
    let when = change
        .changed_ms
        .map(|ms| format!(", {}", context.time_formatter().format_local_and_ago(ms)))
        .unwrap_or_default();
    printer.note(&format!("{tool} has changed since it was last accepted{when}"));
    if change.diff.is_empty() {
        let why = match change.accepted {
            None => "the accepted version is no longer stored, so there is no diff",
            Some(_) => "the versions have no visible difference",
        };
        printer.note(&format!("{why}; see the current version with `toolway tools show`"));
    }
    for line in change.diff.lines() {
        printer.line(&paint_diff_line(line, printer.stdout().colour))?;
    }
    printer.note(&format!(
        "to accept this version: toolway tools accept {} --fingerprint {}{}",
        crate::folder::shell_quote(&args.name),
        escape::line(&change.fingerprint),
        context.folder.data_dir_flag()
    ));
    Ok(())
}

/// Escapes and colours a line of the diff.
fn paint_diff_line(line: &str, colour: bool) -> String {
    let style = match line.as_bytes().first() {
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Error,
        Some(b'@') => Style::Hint,
        _ => Style::Plain,
    };
    style.paint(&escape::line(line), colour)
}

/// Accepts the tool.
pub(super) async fn accept(args: &AcceptToolArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let body = AcceptToolChangeRequest { fingerprint: args.fingerprint.clone() };
    client.send(Method::POST, &["api", "tools", &args.name, "accept"], &body).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"name": args.name, "accepted": true}));
    }
    context.printer.line(&format!("accepted {}", escape::line(&args.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_lines_are_coloured() {
        assert_eq!(paint_diff_line("+a", true), "\u{1b}[32m+a\u{1b}[0m");
        assert_eq!(paint_diff_line("-a", true), "\u{1b}[1;31m-a\u{1b}[0m");
        assert_eq!(paint_diff_line("@@ -1 +1 @@", true), "\u{1b}[1;36m@@ -1 +1 @@\u{1b}[0m");
        assert_eq!(paint_diff_line(" a", true), " a");
        assert_eq!(paint_diff_line("+a", false), "+a");
    }

    /// A malicious device must not be able to change what the terminal shows to the owner.
    #[test]
    fn control_characters_in_a_diff_are_escaped() {
        let line = "+  \"description\": \"fine\u{1b}[2K\r\u{202e}\u{200b}\u{9b}1A\"";
        let shown = paint_diff_line(line, true);
        let inner = shown.strip_prefix("\u{1b}[32m").and_then(|rest| rest.strip_suffix("\u{1b}[0m")).unwrap();
        assert!(!inner.chars().any(toolway_types::name::is_invisible), "{inner:?}");
        assert!(inner.contains("\\u{202e}\\u{200b}"), "{inner}");
    }
}
