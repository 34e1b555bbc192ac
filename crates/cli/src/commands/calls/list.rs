//! `toolway calls list`.

use clap::Args;
use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use super::Call;
use super::filter::{Filter, Times};
use crate::client::{Client, ConnectArgs, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::Done;

/// Flags of `calls list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    times: Times,
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

pub(super) async fn run(args: &ListArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    let page = pages(args, &client, context).await?;
    if context.printer.json {
        return context.printer.json_value(&page);
    }
    let moments = context.moments();
    let mut table = Table::new(vec![
        Column::whole("id"),
        Column::whole("started"),
        Column::cut("tool", 10),
        Column::cut("outcome", 7),
        Column::number("took"),
        Column::cut("caller", 6).optional(),
    ]);
    for call in &page.calls {
        let call: Call = read(call.get())?;
        let (ending, style) = call.ending();
        table.row(vec![
            call.call_id.as_str().into(),
            moments.ago(call.started_ms).into(),
            Cell::styled(call.tool_name(), Style::Name),
            Cell::styled(ending, style),
            call.took().into(),
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
async fn pages(args: &ListArgs, client: &Client, context: &Context) -> Done<Page> {
    let mut query = args.filter.fields();
    query.extend(args.times.fields(context));
    let mut whole = Page { calls: Vec::new(), next: args.cursor.clone() };
    let wanted = usize::try_from(args.limit).unwrap_or(usize::MAX);
    loop {
        let mut query = query.clone();
        query.push(("limit", wanted.saturating_sub(whole.calls.len()).to_string()));
        query.extend(whole.next.take().map(|cursor| ("cursor", cursor)));
        let page: Page = read(&client.get(&["api", "calls"], &query).await?)?;
        whole.calls.extend(page.calls);
        whole.next = page.next;
        if !args.filter.searches() || whole.next.is_none() || whole.calls.len() >= wanted {
            return Ok(whole);
        }
    }
}
