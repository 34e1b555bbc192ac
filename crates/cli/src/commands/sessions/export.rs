//! `toolway sessions export`: a conversation as a document.

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
    /// Id of the session, as `sessions list` shows it; `last` is the one that was held last
    id: String,
    /// Format of the document. Default: markdown, or json with --json
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<SessionExportFormat>,
    /// File to write, readable for you alone, instead of standard output; it must not exist yet
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// A form of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SessionExportFormat {
    /// For reading
    Markdown,
    /// With everything that is kept
    Json,
}

pub(super) async fn run(args: &ExportSessionArgs, context: &CliContext) -> CliResult {
    let printer = &context.printer;
    let form = match (args.format, printer.json, &args.output) {
        (Some(SessionExportFormat::Markdown), true, None) => {
            return Err(CliError::usage("--json and --format markdown are two formats at once")
                .with_hint("leave one of them out, or name a file with --output"));
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
        return printer.json_value(&json!({"id": id, "file": path, "form": word}));
    }
    printer.line(&crate::print::escape::line(&format!("written to {}", path.display())))
}

/// The text of a conversation in a form.
pub(crate) async fn fetch_export(id: &str, form: &str, client: &GatewayClient) -> CliResult<String> {
    client.get(&["api", "sessions", id, "export"], &[("format", form.to_owned())]).await
}
