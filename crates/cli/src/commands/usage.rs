//! `toolway usage`: prints token usage and cost.

use clap::{Args, ValueEnum};
use toolway_api::usage::{UsageReport, UsageReportRow};

use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};
use crate::print::{amount, time};
use crate::time_args::TimeArg;

/// Flags of `usage`.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Grouping of the rows
    #[arg(long, value_enum, value_name = "BY", default_value_t = UsageGrouping::Day)]
    by: UsageGrouping,
    /// Only usage at or after this time: an age like 7d, or a date
    #[arg(long, value_name = "WHEN")]
    since: Option<TimeArg>,
    /// Only usage before this time: an age like 1d, or a date
    #[arg(long, value_name = "WHEN")]
    until: Option<TimeArg>,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UsageGrouping {
    Day,
    Model,
    Agent,
    /// Calls and their duration (without tokens)
    Tool,
    Session,
    /// Owner of the token
    Principal,
}

impl UsageGrouping {
    fn name(self) -> &'static str {
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

fn row_name(row: &UsageReportRow) -> &str {
    row.key.as_deref().unwrap_or("(none)")
}

/// Runs the command.
pub(crate) async fn run(args: &UsageArgs, context: &CliContext) -> CliResult {
    let (now, zone) = (context.now_ms(), context.zone());
    let mut query = vec![("by", args.by.name().to_owned())];
    for (field, when) in [("since_ms", &args.since), ("until_ms", &args.until)] {
        query.extend(when.as_ref().map(|when| (field, when.past_ms(now, &zone).to_string())));
    }
    // Days start at midnight in the user's time zone.
    query.push(("utc_offset_s", context.utc_offset_s().to_string()));
    let text = context.client(&args.connect)?.get(&["api", "usage"], &query).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let rows = parse_response::<UsageReport>(&text)?.rows;
    let table = if args.by == UsageGrouping::Tool {
        tool_usage_table(&rows)
    } else {
        model_usage_table(&rows, args.by)
    };
    context.printer.table(&table, "no usage in this period")
}

fn format_count(number: Option<u64>) -> String {
    number.map(amount::format_count).unwrap_or_default()
}

fn model_usage_table(rows: &[UsageReportRow], by: UsageGrouping) -> TextTable {
    let mut table = TextTable::new(vec![
        TableColumn::truncatable(by.name(), 10),
        TableColumn::number("requests").optional(),
        TableColumn::number("tokens in"),
        TableColumn::number("cached").optional(),
        TableColumn::number("tokens out"),
        TableColumn::number("cost"),
    ]);
    for row in rows {
        table.add_row(vec![
            TableCell::styled(row_name(row), Style::Name),
            format_count(row.requests).into(),
            format_count(row.input).into(),
            format_count(row.cached).into(),
            format_count(row.output).into(),
            // A missing price means an unknown cost, not zero.
            row.cost
                .map(|cost| amount::format_money(cost, row.currency.as_deref()))
                .unwrap_or_default()
                .into(),
        ]);
    }
    table
}

fn tool_usage_table(rows: &[UsageReportRow]) -> TextTable {
    let mut table = TextTable::new(vec![
        TableColumn::truncatable("tool", 10),
        TableColumn::number("calls"),
        TableColumn::number("failed"),
        TableColumn::number("took").optional(),
    ]);
    for row in rows {
        table.add_row(vec![
            TableCell::styled(row_name(row), Style::Name),
            format_count(row.calls).into(),
            format_count(row.errors).into(),
            row.duration_ms.map(format_millis).unwrap_or_default().into(),
        ]);
    }
    table
}

#[allow(clippy::cast_precision_loss, reason = "shown to a person")]
fn format_millis(millis: u64) -> String {
    time::format_duration(millis as f64)
}
