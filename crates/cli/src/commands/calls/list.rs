//! `toolway calls list`: prints a page of recorded calls.

use clap::Args;
use toolway_api::calls::{CallList, CallSummary};
use toolway_types::RawJson;

use super::filter::{CallFilterArgs, TimeRangeArgs};
use super::{duration_text, status_text, tool_name};
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
    /// Maximum number of calls
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Cursor printed by the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
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
        let call: CallSummary = parse_response(call.get())?;
        let (ending, style) = status_text(&call);
        table.add_row(vec![
            call.call_id.as_str().into(),
            moments.format_ago(call.started_ms).into(),
            TableCell::styled(tool_name(&call), Style::Name),
            TableCell::styled(ending, style),
            duration_text(&call).into(),
            call.principal.as_str().into(),
        ]);
    }
    context.printer.table(&table, "no matching calls")?;
    if let Some(next) = &page.next_cursor {
        context.printer.note(&format!("for more, add --cursor {next}"));
    }
    Ok(())
}

/// Fetches calls as raw JSON. Searches can return partial pages, so this requests pages until the limit is reached.
async fn fetch_pages(
    args: &ListCallsArgs,
    client: &GatewayClient,
    context: &CliContext,
) -> CliResult<CallList<RawJson>> {
    let mut query = args.filter.query_pairs();
    query.extend(args.times.query_pairs(context));
    let mut whole = CallList { next_cursor: args.cursor.clone(), ..CallList::default() };
    let wanted = usize::try_from(args.limit).unwrap_or(usize::MAX);
    loop {
        let mut query = query.clone();
        query.push(("limit", wanted.saturating_sub(whole.calls.len()).to_string()));
        query.extend(whole.next_cursor.take().map(|cursor| ("cursor", cursor)));
        let page: CallList<RawJson> = parse_response(&client.get(&["api", "calls"], &query).await?)?;
        whole.calls.extend(page.calls);
        whole.next_cursor = page.next_cursor;
        if !args.filter.has_search() || whole.next_cursor.is_none() || whole.calls.len() >= wanted {
            return Ok(whole);
        }
    }
}
