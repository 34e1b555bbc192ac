//! `toolway usage`: what conversations took.

use clap::{Args, ValueEnum};
use serde::Deserialize;

use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::print::{amount, time};
use crate::report::Done;
use crate::when::When;

/// Flags of `usage`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// What is added up under one another
    #[arg(long, value_enum, value_name = "BY", default_value_t = By::Day)]
    by: By,
    /// Only since then: so long ago, as 7d, or a date
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Only until then: so long ago, as 1d, or a date
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Day,
    Model,
    Agent,
    /// Calls and how long they took; tools take no tokens of their own
    Tool,
    Session,
    /// Whose token it was
    Principal,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Session => "session",
            Self::Principal => "principal",
        }
    }
}

#[derive(Debug, Deserialize)]
struct Usage {
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    key: Option<String>,
    requests: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    cost: Option<f64>,
    currency: Option<String>,
    calls: Option<u64>,
    errors: Option<u64>,
    duration_ms: Option<f64>,
}

impl Row {
    fn name(&self) -> &str {
        self.key.as_deref().unwrap_or("(none)")
    }
}

/// Runs the command.
pub(crate) async fn run(args: &UsageArgs, context: &Context) -> Done {
    let (now, zone) = (context.now_ms(), context.zone());
    let mut query = vec![("by", args.by.word().to_owned())];
    for (field, when) in [("since_ms", &args.since), ("until_ms", &args.until)] {
        query.extend(when.as_ref().map(|when| (field, when.past_ms(now, &zone).to_string())));
    }
    // A day is one where this person is.
    query.push(("zone_offset_s", context.offset_s().to_string()));
    let text = context.client(&args.connect)?.get(&["api", "usage"], &query).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let rows = read::<Usage>(&text)?.rows;
    let table = if args.by == By::Tool { of_tools(&rows) } else { of_models(&rows, args.by) };
    context.printer.table(&table, "nothing was used in that time")
}

fn count(number: Option<u64>) -> String {
    number.map(amount::count).unwrap_or_default()
}

fn of_models(rows: &[Row], by: By) -> Table {
    let mut table = Table::new(vec![
        Column::cut(by.word(), 10),
        Column::number("requests").optional(),
        Column::number("tokens in"),
        Column::number("cached").optional(),
        Column::number("tokens out"),
        Column::number("cost"),
    ]);
    for row in rows {
        table.row(vec![
            Cell::styled(row.name(), Style::Name),
            count(row.requests).into(),
            count(row.input).into(),
            count(row.cached).into(),
            count(row.output).into(),
            // What no price is known for costs something unknown, not nothing.
            row.cost.map(|cost| amount::money(cost, row.currency.as_deref())).unwrap_or_default().into(),
        ]);
    }
    table
}

fn of_tools(rows: &[Row]) -> Table {
    let mut table = Table::new(vec![
        Column::cut("tool", 10),
        Column::number("calls"),
        Column::number("failed"),
        Column::number("took").optional(),
    ]);
    for row in rows {
        table.row(vec![
            Cell::styled(row.name(), Style::Name),
            count(row.calls).into(),
            count(row.errors).into(),
            row.duration_ms.map(time::duration).unwrap_or_default().into(),
        ]);
    }
    table
}
