//! `toolway calls export`: streams recorded calls with all details.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use toolway_files::private_file::AtomicFile;

use super::filter::{CallFilterArgs, TimeRangeArgs};
use crate::client::{BodyStream, ConnectArgs};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::{Printer, escape, time};

/// Flags of `calls export`.
#[derive(Debug, Args)]
pub(crate) struct ExportCallsArgs {
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = CallExportFormat::Jsonl)]
    format: CallExportFormat,
    /// File to write, readable only by you (default: standard output; must not exist)
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Newest first (default: oldest first)
    #[arg(long)]
    newest_first: bool,
    #[command(flatten)]
    filter: CallFilterArgs,
    #[command(flatten)]
    times: TimeRangeArgs,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Output format of `calls export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CallExportFormat {
    /// One JSON object per line
    Jsonl,
    /// CSV with a header, for spreadsheets
    Csv,
}

impl CallExportFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }
}

pub(super) async fn run(args: &ExportCallsArgs, context: &CliContext) -> CliResult {
    if context.printer.json && args.format == CallExportFormat::Csv && args.output.is_none() {
        return Err(CliError::usage("--json conflicts with --format csv")
            .with_hint("remove one of them, or write to a file with --output"));
    }
    let mut query = args.filter.query_pairs();
    query.extend(args.times.query_pairs(context));
    query.push(("format", args.format.name().to_owned()));
    if args.newest_first {
        query.push(("order", "newest".to_owned()));
    }
    let client = context.client(&args.connect)?;
    match &args.output {
        None => {
            let body = client.get_stream(&["api", "calls", "export"], &query).await?;
            print(body, args.format, &context.printer).await
        }
        Some(path) => {
            let exists = || {
                CliError::new(format!("{} already exists", path.display()))
                    .with_code("already_exists")
                    .with_hint("choose another file, or move this one")
            };
            if path.symlink_metadata().is_ok() {
                return Err(exists());
            }
            let body = client.get_stream(&["api", "calls", "export"], &query).await?;
            let bytes = write(body, path).await?;
            if context.printer.json {
                return context.printer.json_value(&json!({"file": path, "bytes": bytes}));
            }
            context.printer.line(&format!("wrote {} to {}", time::format_bytes(bytes), path.display()))
        }
    }
}

/// Streams to standard output. On a terminal it escapes control characters, line by line.
async fn print(mut body: BodyStream, format: CallExportFormat, printer: &Printer) -> CliResult {
    let mut line = Vec::new();
    while let Some(bytes) = body.next_chunk().await? {
        if !printer.stdout().is_terminal {
            printer.bytes(&bytes)?;
            continue;
        }
        line.extend_from_slice(&bytes);
        if let Some(end) = line.iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = line.drain(..=end).collect();
            let text = String::from_utf8_lossy(&whole);
            printer.text(&if format == CallExportFormat::Csv {
                escape::lines(&text)
            } else {
                escape::json(&text)
            })?;
        }
    }
    Ok(())
}

/// Writes to a new file, which appears under its name when it is complete. Returns its size.
async fn write(body: BodyStream, path: &Path) -> CliResult<u64> {
    let failed = |error: std::io::Error| CliError::io("write", path, &error);
    let mut file = AtomicFile::create(path).map_err(failed)?;
    let size = write_body(body, &mut file, path).await?;
    file.commit().map_err(failed)?;
    Ok(size)
}

async fn write_body(mut body: BodyStream, file: &mut AtomicFile, path: &Path) -> CliResult<u64> {
    let failed = |error: std::io::Error| CliError::io("write", path, &error);
    let mut size = 0;
    while let Some(bytes) = body.next_chunk().await? {
        file.write_all(&bytes).map_err(failed)?;
        size += bytes.len() as u64;
    }
    Ok(size)
}
