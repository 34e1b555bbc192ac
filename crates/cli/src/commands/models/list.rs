//! `toolway models list`.

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::{open, wrong};
use crate::client::{ConnectArgs, find, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;

/// Flags of `models list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
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

pub(super) async fn run(args: &ListArgs, context: &Context) -> Done {
    // A gateway knows which keys it has; without one, it is what this program finds.
    if args.connect.gateway.is_some() || find::running_on(&context.folder)?.is_some() {
        let text = context.client(&args.connect)?.get(&["api", "models"], &[]).await?;
        return print(&text, context);
    }
    let models = open(context).await?;
    let problems = models.problems();
    if !problems.is_empty() {
        return Err(wrong(&problems));
    }
    print(&json!({"models": models.list().await, "problems": []}).to_string(), context)
}

fn print(text: &str, context: &Context) -> Done {
    if context.printer.json {
        return context.printer.raw_json(text);
    }
    let found: Models = read(text)?;
    let mut table = Table::new(vec![
        Column::whole("name"),
        Column::cut("model", 10),
        Column::whole("kind").optional(),
        Column::cut("address", 16).optional(),
        Column::cut("key", 10),
    ]);
    for model in &found.models {
        let key = match &model.key {
            None => Cell::styled("(none)", Style::Faint),
            Some(key) if key.present => Cell::styled(&key.place, Style::Good),
            Some(key) => Cell::styled(format!("missing: {}", key.place), Style::Error),
        };
        table.row(vec![
            Cell::styled(&model.name, Style::Name),
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
