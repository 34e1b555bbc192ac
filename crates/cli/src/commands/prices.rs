//! `toolway prices`: manages model prices in `prices.toml` of the data folder. The program ships without prices: each
//! one is written or imported by the owner, with its source and date.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use toolway_agent::prices::{self, Price, PriceImportError, PriceTable};
use toolway_files::bounded_read::{self, ReadError};

use super::models::models_file_error;
use super::tools::own_tools::{reload_error, reload_gateway, reload_status, require_local_gateway};
use crate::client::ConnectArgs;
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};
use crate::print::{amount, escape};

/// Maximum size of a price file in bytes.
const MAX_FILE: u64 = 32 << 20;
/// Hint about the format of the file.
const FORMAT_HINT: &str = "see docs/models.md for the format";

/// Subcommands of `toolway prices`.
#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// List the prices with their sources
    #[command(after_help = "Example:\n  toolway prices list --search claude")]
    List(ListPricesArgs),
    /// Replace all prices with those of a file
    #[command(
        after_help = "Example:\n  toolway prices import model_prices_and_context_window.json --source https://github.com/BerriAI/litellm"
    )]
    Import(ImportPricesArgs),
}

/// Flags of `prices list`.
#[derive(Debug, Args)]
pub(crate) struct ListPricesArgs {
    /// Only models whose name contains this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Flags of `prices import`.
#[derive(Debug, Args)]
pub(crate) struct ImportPricesArgs {
    /// Price table in TOML, or LiteLLM's price file in JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Source of the prices, for example a URL (default: the name of the file)
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// Date of the prices, for example 2026-11-01 (default: today)
    #[arg(long, value_name = "DATE")]
    date: Option<jiff::civil::Date>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) async fn run(command: PricesCommand, context: &CliContext) -> CliResult {
    match command {
        PricesCommand::List(args) => list(&args, context),
        PricesCommand::Import(args) => import(&args, context).await,
    }
}

/// Loads the prices of this data folder.
pub(crate) fn load(context: &CliContext) -> CliResult<PriceTable> {
    let path = context.folder.prices();
    match read_price_file(&path)? {
        Some(text) => prices::parse(&text, &path).map_err(|problems| models_file_error(&problems)),
        None => Ok(PriceTable::default()),
    }
}

fn list(args: &ListPricesArgs, context: &CliContext) -> CliResult {
    let table = load(context)?;
    let wanted = args.search.as_deref().unwrap_or_default().to_lowercase();
    let shown: Vec<&Price> =
        table.prices().iter().filter(|price| price.model.to_lowercase().contains(&wanted)).collect();
    if context.printer.json {
        return context.printer.json_value(&json!({"currency": table.currency(), "prices": shown}));
    }
    let mut rows = TextTable::new(vec![
        TableColumn::truncatable("model", 14),
        TableColumn::number("in"),
        TableColumn::number("cached").optional(),
        TableColumn::number("out"),
        TableColumn::number("context").optional(),
        TableColumn::fixed("as of"),
        TableColumn::truncatable("from", 10).optional(),
    ]);
    let number =
        |price: Option<f64>| price.map(|price| amount::format_money(price, None)).unwrap_or_default();
    for price in &shown {
        let model = match price.up_to_input_tokens {
            Some(most) => format!("{} (up to {} in)", price.model, amount::format_count(most)),
            None => price.model.clone(),
        };
        rows.add_row(vec![
            TableCell::styled(model, Style::Name),
            number(price.input).into(),
            number(price.cached).into(),
            number(price.output).into(),
            price.context_window.map(amount::format_count).unwrap_or_default().into(),
            price.date.as_deref().unwrap_or("(no date)").into(),
            price.source.as_deref().unwrap_or_default().into(),
        ]);
    }
    context.printer.table(&rows, "no matching prices; import prices with `toolway prices import FILE`")?;
    if !shown.is_empty() {
        context.printer.note(&format!("{} per million tokens", escape::line(table.currency())));
    }
    Ok(())
}

async fn import(args: &ImportPricesArgs, context: &CliContext) -> CliResult {
    require_local_gateway(&args.connect, context)?;
    let text = read_price_file(&args.file)?.ok_or_else(|| {
        CliError::new(format!("file not found: {}", args.file.display()))
            .with_code("no_file")
            .with_hint("check the path")
    })?;
    let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy().into_owned();
    let source = args.source.clone().unwrap_or(name);
    let date =
        args.date.unwrap_or_else(|| context.zone().to_datetime(context.clock.now()).date()).to_string();
    let imported = prices::import(&text, &args.file, &source, &date).map_err(import_error)?;
    let path = context.folder.prices();
    let text = imported.table.to_toml();
    // Check that the written text can be parsed again.
    prices::parse(&text, &path).map_err(|problems| models_file_error(&problems))?;
    context.folder.create()?;
    private_file::replace(&path, text.as_bytes())?;
    let count = imported.table.prices().len();
    let told = reload_gateway(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(&json!({
            "file": path, "prices": count, "notes": imported.notes, "source": source, "date": date,
            "gateway": reload_status(&told),
        }))?;
    } else {
        let summary = format!("imported {count} prices as of {date} to {}", path.display());
        context.printer.line(&escape::line(&summary))?;
        for note in &imported.notes {
            context.printer.note(note);
        }
    }
    told.map(drop).map_err(|failure| reload_error(&failure))
}

fn import_error(error: PriceImportError) -> CliError {
    match error {
        PriceImportError::Problems(problems) => models_file_error(&problems),
        other => CliError::new(other.to_string()).with_code("invalid_prices").with_hint(FORMAT_HINT),
    }
}

/// Reads a file; `None` if it does not exist.
fn read_price_file(path: &Path) -> CliResult<Option<String>> {
    bounded_read::read_input(path, MAX_FILE).map_err(|error| match error {
        ReadError::Io(error) => CliError::io("read", path, &error),
        ReadError::NotRegular => CliError::new(format!("{} is not a regular file", path.display())),
        ReadError::TooLong(_) => {
            CliError::new(format!("{} is larger than 32 MiB, the limit for a price file", path.display()))
                .with_hint(FORMAT_HINT)
        }
    })
}
