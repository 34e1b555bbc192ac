//! `toolway prices`: what models cost, in `prices.toml` in the data folder. None comes with the program: a price is what
//! somebody wrote or imported, with where it is from and when.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use toolway_agent::prices::{self, ImportError, Price, PriceTable};

use super::models::wrong;
use super::tools::own::{not_told, refuse_elsewhere, tell, word};
use crate::client::ConnectArgs;
use crate::context::Context;
use crate::folder::private;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::print::{amount, escape};
use crate::report::{Done, Failure};

/// No file of prices is larger, in bytes.
const MAX_FILE: u64 = 32 << 20;
/// Where the form of the file is told.
const FORM: &str = "docs/models.md shows how prices are written";

/// What to do with prices.
#[derive(Debug, Subcommand)]
pub(crate) enum PricesCommand {
    /// List the prices, each with where it is from
    List(ListArgs),
    /// Take the prices of a file over, in the place of those that there are
    Import(ImportArgs),
}

/// Flags of `prices list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those of models whose name has this text in it
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Flags of `prices import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A table of prices in TOML, or the file of prices that LiteLLM keeps (JSON)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the prices are from, as an address; else the name of the file
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// When they were read there, as 2026-11-01; else today
    #[arg(long, value_name = "DATE")]
    date: Option<jiff::civil::Date>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) async fn run(command: PricesCommand, context: &Context) -> Done {
    match command {
        PricesCommand::List(args) => list(&args, context),
        PricesCommand::Import(args) => import(&args, context).await,
    }
}

/// The prices of this data folder.
pub(crate) fn load(context: &Context) -> Done<PriceTable> {
    let path = context.folder.prices();
    match text_of(&path)? {
        Some(text) => prices::parse(&text, &path).map_err(|problems| wrong(&problems)),
        None => Ok(PriceTable::default()),
    }
}

fn list(args: &ListArgs, context: &Context) -> Done {
    let table = load(context)?;
    let wanted = args.search.as_deref().unwrap_or_default().to_lowercase();
    let shown: Vec<&Price> =
        table.prices().iter().filter(|price| price.model.to_lowercase().contains(&wanted)).collect();
    if context.printer.json {
        return context.printer.json_value(&json!({"currency": table.currency(), "prices": shown}));
    }
    let mut rows = Table::new(vec![
        Column::cut("model", 14),
        Column::number("in"),
        Column::number("cached").optional(),
        Column::number("out"),
        Column::number("context").optional(),
        Column::whole("as of"),
        Column::cut("from", 10).optional(),
    ]);
    let number = |price: Option<f64>| price.map(|price| amount::money(price, None)).unwrap_or_default();
    for price in &shown {
        let model = match price.up_to_input {
            Some(most) => format!("{} (up to {} in)", price.model, amount::count(most)),
            None => price.model.clone(),
        };
        rows.row(vec![
            Cell::styled(model, Style::Name),
            number(price.input).into(),
            number(price.cached).into(),
            number(price.output).into(),
            price.context_tokens.map(amount::count).unwrap_or_default().into(),
            price.date.as_deref().unwrap_or("(no date)").into(),
            price.source.as_deref().unwrap_or_default().into(),
        ]);
    }
    context.printer.table(&rows, "no price is known; `toolway prices import FILE` takes some over")?;
    if !shown.is_empty() {
        context.printer.note(&format!("{} per million tokens", escape::line(table.currency())));
    }
    Ok(())
}

async fn import(args: &ImportArgs, context: &Context) -> Done {
    refuse_elsewhere(&args.connect, context)?;
    let text = text_of(&args.file)?.ok_or_else(|| {
        Failure::new(format!("there is no file {}", args.file.display()))
            .code("no_file")
            .hint("check the path")
    })?;
    let name = args.file.file_name().unwrap_or(args.file.as_os_str()).to_string_lossy().into_owned();
    let source = args.source.clone().unwrap_or(name);
    let date =
        args.date.unwrap_or_else(|| context.zone().to_datetime(context.clock.now()).date()).to_string();
    let imported = prices::import(&text, &args.file, &source, &date).map_err(not_imported)?;
    let path = context.folder.prices();
    let text = imported.table.to_toml();
    // What is written must be what is read.
    prices::parse(&text, &path).map_err(|problems| wrong(&problems))?;
    context.folder.create()?;
    private::replace(&path, text.as_bytes())?;
    let count = imported.table.prices().len();
    let told = tell(&args.connect, context).await;
    if context.printer.json {
        context.printer.json_value(&json!({
            "file": path, "prices": count, "notes": imported.notes, "source": source, "date": date,
            "gateway": word(&told),
        }))?;
    } else {
        let said = format!("{count} prices, as of {date}, are in {}", path.display());
        context.printer.line(&escape::line(&said))?;
        for note in &imported.notes {
            context.printer.note(note);
        }
    }
    told.map(drop).map_err(|failure| not_told(&failure))
}

fn not_imported(error: ImportError) -> Failure {
    match error {
        ImportError::Problems(problems) => wrong(&problems),
        other => Failure::new(other.to_string()).code("bad_prices").hint(FORM),
    }
}

/// The text of a file; none where there is none.
fn text_of(path: &Path) -> Done<Option<String>> {
    let failed = |error: std::io::Error| Failure::io("read", path, &error);
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let mut text = String::new();
    file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_FILE {
        return Err(
            Failure::new(format!("{} is too large to be a file of prices", path.display())).hint(FORM)
        );
    }
    Ok(Some(text))
}
