//! `toolway calls list`.

use clap::Args;
use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use super::Call;
use super::filter::{CallFilterArgs, TimeRangeArgs};
use crate::client::{ConnectArgs, GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::CliResult;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};

/// Flags of `calls list`.
#[derive(Debug, Args)]
pub(crate) struct ListCallsArgs {
    #[command(flatten)]
    filter: CallFilterArgs,
    #[command(flatten)]
    times: TimeRangeArgs,
    /// How many to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Where to go on, as an earlier list said
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// A page as the gateway gives it.
#[derive(Debug, Serialize, Deserialize)]
struct Page {
    calls: Vec<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn run(args: &ListCallsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let page = fetch_pages(args, &client, context).await?;
    if context.printer.json {
        return context.printer.json_value(&page);
    }
    let moments = context.time_formatter();
    let mut table = TextTable::new(vec![
        TableColumn::fixed("id"),
        TableColumn::fixed("started"),
        TableColumn::truncatable("tool", 10),
        TableColumn::truncatable("outcome", 7),
        TableColumn::number("took"),
        TableColumn::truncatable("caller", 6).optional(),
    ]);
    for call in &page.calls {
        let call: Call = parse_response(call.get())?;
        let (ending, style) = call.status_text();
        table.add_row(vec![
            call.call_id.as_str().into(),
            moments.format_ago(call.started_ms).into(),
            TableCell::styled(call.tool_name(), Style::Name),
            TableCell::styled(ending, style),
            call.duration_text().into(),
            call.caller.as_str().into(),
        ]);
    }
    context.printer.table(&table, "no call is recorded that fits")?;
    if let Some(next) = &page.next {
        context.printer.note(&format!("there are more: add --cursor {next}"));
    }
    Ok(())
}

/// A page; where a text is looked for, as many as it takes to fill one.
async fn fetch_pages(args: &ListCallsArgs, client: &GatewayClient, context: &CliContext) -> CliResult<Page> {
    let mut query = args.filter.query_pairs();
    query.extend(args.times.query_pairs(context));
    let mut whole = Page { calls: Vec::new(), next: args.cursor.clone() };
    let wanted = usize::try_from(args.limit).unwrap_or(usize::MAX);
    loop {
        let mut query = query.clone();
        query.push(("limit", wanted.saturating_sub(whole.calls.len()).to_string()));
        query.extend(whole.next.take().map(|cursor| ("cursor", cursor)));
        let page: Page = parse_response(&client.get(&["api", "calls"], &query).await?)?;
        whole.calls.extend(page.calls);
        whole.next = page.next;
        if !args.filter.has_search() || whole.next.is_none() || whole.calls.len() >= wanted {
            return Ok(whole);
        }
    }
}
