//! `toolway models list`.

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::{models_file_error, open_models};
use crate::client::{ConnectArgs, parse_response, target};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Flags of `models list`.
#[derive(Debug, Args)]
pub(crate) struct ListModelsArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Deserialize)]
struct Models {
    models: Vec<Model>,
    #[serde(default)]
    problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
struct Model {
    name: String,
    kind: String,
    base_url: String,
    key: Option<Key>,
    model: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Key {
    place: String,
    present: bool,
}

#[derive(Debug, Deserialize)]
struct Problem {
    message: String,
    hint: Option<String>,
}

pub(super) async fn run(args: &ListModelsArgs, context: &CliContext) -> CliResult {
    // A gateway knows which keys it has; without one, it is what this program finds.
    if args.connect.gateway.is_some() || target::find_running(&context.folder)?.is_some() {
        let text = context.client(&args.connect)?.get(&["api", "models"], &[]).await?;
        return print(&text, context);
    }
    let models = open_models(context).await?;
    let problems = models.problems();
    if !problems.is_empty() {
        return Err(models_file_error(&problems));
    }
    print(&json!({"models": models.list().await, "problems": []}).to_string(), context)
}

fn print(text: &str, context: &CliContext) -> CliResult {
    if context.printer.json {
        return context.printer.raw_json(text);
    }
    let found: Models = parse_response(text)?;
    let mut table = TextTable::new(vec![
        TableColumn::fixed("name"),
        TableColumn::truncatable("model", 10),
        TableColumn::fixed("kind").optional(),
        TableColumn::truncatable("address", 16).optional(),
        TableColumn::truncatable("key", 10),
    ]);
    for model in &found.models {
        let key = match &model.key {
            None => TableCell::styled("(none)", Style::Faint),
            Some(key) if key.present => TableCell::styled(&key.place, Style::Good),
            Some(key) => TableCell::styled(format!("missing: {}", key.place), Style::Error),
        };
        table.add_row(vec![
            TableCell::styled(&model.name, Style::Name),
            model.model.as_deref().unwrap_or("(none set)").into(),
            model.kind.as_str().into(),
            model.base_url.as_str().into(),
            key,
        ]);
    }
    context.printer.table(&table, "there is no model provider; `toolway models add` adds one")?;
    for problem in &found.problems {
        context.printer.warning(&problem.message, problem.hint.as_deref().unwrap_or_default());
    }
    Ok(())
}
