//! `toolway calls`: the record of tool calls.

mod tail;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use toolway_types::RawJson;

use crate::client::{ConnectArgs, read};
use crate::context::Context;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Pairs, Table};
use crate::print::{escape, json, time};
use crate::report::{Done, Failure};
use crate::when::When;

/// What to do with the record.
#[derive(Debug, Subcommand)]
pub(crate) enum CallsCommand {
    /// List calls, the newest first
    List(ListArgs),
    /// Show one call: who called, with what, and what came of it
    Show(ShowArgs),
    /// Print calls as they end, until interrupted
    Tail(tail::TailArgs),
    /// Remove the records of old calls
    Purge(PurgeArgs),
}

/// Flags of `calls list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    filter: Filter,
    /// Only calls that started since then: 2h ago as 2h, or a date like 2026-09-01 or 2026-09-01T14:30
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// How many to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Where to go on, as an earlier list said
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Which calls.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Only calls of this tool: its name, its id source/tool, or a pattern of ids like laptop/*
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Only calls of this source's tools
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only calls by this caller: the id of a token, or owner
    #[arg(long, value_name = "CALLER")]
    caller: Option<String>,
    /// Only calls like this: open, success, error, a kind of error (as timeout), or an error's code
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
}

impl Filter {
    fn query(&self) -> Vec<(&'static str, String)> {
        [("tool", &self.tool), ("source", &self.source), ("caller", &self.caller), ("status", &self.status)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect()
    }
}

/// Flags of `calls show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of the call, as `calls list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `calls purge`.
#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    /// Remove calls that started before then: 30 days ago as 30d, or a date like 2026-09-01
    #[arg(long, value_name = "WHEN")]
    before: When,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// A recorded call as the gateway shows it.
#[derive(Debug, Deserialize)]
struct Call {
    call_id: String,
    name: String,
    tool: Option<String>,
    caller: String,
    role: Option<String>,
    door: Option<String>,
    status: String,
    error_type: Option<String>,
    code: Option<String>,
    message: Option<String>,
    started_ms: i64,
    duration_ms: Option<f64>,
    waiting_ms: Option<f64>,
    queued_ms: Option<f64>,
    running_ms: Option<f64>,
    attempts: Option<u32>,
    arguments: Option<RawJson>,
    outcome: Option<RawJson>,
}

impl Call {
    /// The tool's name as it is called.
    fn tool_name(&self) -> String {
        self.tool.as_ref().map_or_else(|| self.name.clone(), |id| id.replacen('/', "__", 1))
    }

    /// How it ended, with the style of that.
    fn ending(&self) -> (&str, Style) {
        match (self.status.as_str(), &self.code) {
            ("success", _) => ("success", Style::Good),
            ("error", Some(code)) => (code, Style::Error),
            ("error", None) => ("error", Style::Error),
            (other, _) => (other, Style::Warning),
        }
    }

    fn took(&self) -> String {
        self.duration_ms.map(time::duration).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
struct CallList {
    calls: Vec<Call>,
    next: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(command: CallsCommand, context: &Context) -> Done {
    match command {
        CallsCommand::List(args) => list(&args, context).await,
        CallsCommand::Show(args) => show(&args, context).await,
        CallsCommand::Tail(args) => tail::run(&args, context).await,
        CallsCommand::Purge(args) => purge(&args, context).await,
    }
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let mut query = args.filter.query();
    if let Some(since) = &args.since {
        query.push(("since_ms", since.past_ms(context.now_ms(), &context.zone()).to_string()));
    }
    query.push(("limit", args.limit.to_string()));
    query.extend(args.cursor.clone().map(|cursor| ("cursor", cursor)));
    let text = context.client(&args.connect)?.get(&["api", "calls"], &query).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let list: CallList = read(&text)?;
    let moments = context.moments();
    let mut table = Table::new(vec![
        Column::whole("id"),
        Column::whole("started"),
        Column::cut("tool", 10),
        Column::cut("outcome", 7),
        Column::number("took"),
        Column::cut("caller", 6).optional(),
    ]);
    for call in &list.calls {
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
    if let Some(next) = list.next {
        context.printer.note(&format!("there are more: add --cursor {next}"));
    }
    Ok(())
}

async fn show(args: &ShowArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.get(&["api", "calls", &args.id], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let call: Call = read(&text)?;
    let mut pairs = Pairs::default();
    pairs.add("id", &call.call_id);
    pairs.add("tool", call.tool_name());
    if call.tool_name() != call.name {
        pairs.add("called as", &call.name);
    }
    pairs.add("caller", &call.caller);
    pairs.maybe("role", call.role.as_ref());
    pairs.maybe("door", call.door.as_ref());
    pairs.add("started", context.moments().both(call.started_ms));
    pairs.add("status", &call.status);
    pairs.maybe("error", call.error_type.as_ref());
    pairs.maybe("code", call.code.as_ref());
    pairs.maybe("message", call.message.as_ref());
    pairs.maybe("took", call.duration_ms.map(time::duration));
    for (label, part) in
        [("of that, waiting", call.waiting_ms), ("queued", call.queued_ms), ("running", call.running_ms)]
    {
        pairs.maybe(label, part.filter(|ms| *ms > 0.0).map(time::duration));
    }
    pairs.maybe("attempts", call.attempts.map(|attempts| attempts.to_string()));
    for (label, value) in [("arguments", call.arguments), ("outcome", call.outcome)] {
        pairs.maybe(label, value.map(|raw| escape::json(&json::pretty(raw.get()))));
    }
    context.printer.pairs(&pairs)
}

async fn purge(args: &PurgeArgs, context: &Context) -> Done {
    let now = context.now_ms();
    let before_ms = args.before.past_ms(now, &context.zone());
    if before_ms > now {
        return Err(
            Failure::usage("--before lies in the future").hint("name a past date, or an age like 30d")
        );
    }
    let text = context
        .client(&args.connect)?
        .send(Method::POST, &["api", "calls", "purge"], &json!({"before_ms": before_ms}))
        .await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    #[derive(Deserialize)]
    struct Purged {
        removed: u64,
        #[serde(default)]
        freed_bytes: u64,
    }
    let Purged { removed, freed_bytes } = read(&text)?;
    context.printer.line(&format!(
        "{removed} calls from before {} are removed; that frees {}",
        context.moments().local(before_ms),
        time::bytes(freed_bytes)
    ))
}
