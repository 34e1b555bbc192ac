//! `toolway sessions export`: exports a conversation as a document.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::client::{ConnectArgs, GatewayClient};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;

/// Flags of `sessions export`.
#[derive(Debug, Args)]
pub(crate) struct ExportSessionArgs {
    /// Id of the session, as `sessions list` shows it (last: the latest one)
    id: String,
    /// Output format (default: markdown, or json with --json)
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<SessionExportFormat>,
    /// File to write, readable only by you (default: standard output; must not exist)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Output format of `sessions export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SessionExportFormat {
    /// Markdown, for reading
    Markdown,
    /// JSON with all details
    Json,
}

pub(super) async fn run(args: &ExportSessionArgs, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let form = match (args.format, printer.json, &args.output) {
        (Some(SessionExportFormat::Markdown), true, None) => {
            return Err(CliError::usage("--json conflicts with --format markdown")
                .with_hint("remove one of them, or write to a file with --output"));
        }
        (Some(form), ..) => form,
        (None, true, None) => SessionExportFormat::Json,
        (None, ..) => SessionExportFormat::Markdown,
    };
    let word = match form {
        SessionExportFormat::Markdown => "markdown",
        SessionExportFormat::Json => "json",
    };
    let client = context.client(&args.connect)?;
    let id = super::resolve_session_id(&args.id, &client).await?;
    let text = fetch_export(&id, word, &client).await?;
    let Some(path) = &args.output else {
        return match form {
            SessionExportFormat::Markdown => printer.untrusted_text(&text),
            SessionExportFormat::Json => printer.raw_json(text.trim_end()),
        };
    };
    private_file::write_new(path, text.as_bytes())?;
    if printer.json {
        return printer.json_value(&json!({"id": id, "file": path, "format": word}));
    }
    printer.line(&crate::print::escape::line(&format!("wrote {}", path.display())))
}

/// Fetches a conversation in a format.
pub(crate) async fn fetch_export(id: &str, form: &str, client: &GatewayClient) -> CliResult<String> {
    client.get(&["api", "sessions", id, "export"], &[("format", form.to_owned())]).await
}
