//! `toolway sessions`: the conversations that are kept.

mod export;
mod show;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::json;
use toolway_api::sessions::{MessagePart, RenameSessionRequest, SessionDetail, SessionList, SessionMessage};

use crate::client::{ConnectArgs, GatewayClient, parse_response, unreadable_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};
pub(crate) use export::fetch_export;

/// What stands for the session that was held last.
const LAST_SESSION: &str = "last";

/// What `sessions` takes: where nothing is to be done with them they are listed.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
    #[command(flatten)]
    list: ListSessionsArgs,
}

/// What to do with conversations.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List conversations, the latest first
    List(ListSessionsArgs),
    /// Show one: what was said, which tools were used, what it took
    Show(show::ShowSessionArgs),
    /// Give one a title of your own
    Rename(RenameSessionArgs),
    /// Delete conversations, with all that was said in them
    Remove(RemoveSessionsArgs),
    /// Write one out, as Markdown or as JSON
    Export(export::ExportSessionArgs),
}

/// Flags of `sessions list`.
#[derive(Debug, Args)]
pub(crate) struct ListSessionsArgs {
    /// Only those in which this text was said, or whose title has it
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only those with this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// How many to list
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Where to go on, as an earlier list said
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `sessions rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameSessionArgs {
    /// Id of the session, as `sessions list` shows it
    id: String,
    /// The title
    title: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `sessions remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveSessionsArgs {
    /// Ids of the sessions, as `sessions list` shows them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// The records of the tool calls made in them too; else these stay in the record of calls
    #[arg(long)]
    calls: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// The last message of the person, and the answer.
pub(crate) fn last_exchange(session: &SessionDetail) -> &[SessionMessage] {
    let start = session.messages.iter().rposition(is_from_user).unwrap_or_default();
    session.messages.get(start..).unwrap_or_default()
}

/// Whether a person wrote the message.
pub(crate) fn is_from_user(message: &SessionMessage) -> bool {
    message.role == "user"
}

/// The parts of a message.
pub(crate) fn message_parts(message: &SessionMessage) -> CliResult<Vec<MessagePart>> {
    message.read_parts().map_err(unreadable_response)
}

/// The text of a message.
pub(crate) fn message_text(message: &SessionMessage) -> CliResult<String> {
    let parts = message_parts(message)?;
    Ok(parts.into_iter().filter(|part| part.kind == "text").filter_map(|part| part.text).collect())
}

/// Runs the command.
pub(crate) async fn run(args: SessionsArgs, context: &CliContext) -> CliResult {
    match args.command.unwrap_or(SessionsCommand::List(args.list)) {
        SessionsCommand::List(args) => list(&args, context).await,
        SessionsCommand::Show(args) => show::run(&args, context).await,
        SessionsCommand::Rename(args) => rename(&args, context).await,
        SessionsCommand::Remove(args) => delete(&args, context).await,
        SessionsCommand::Export(args) => export::run(&args, context).await,
    }
}

/// The id of a session; of the one that was held last where it is `last`.
pub(crate) async fn resolve_session_id(id: &str, client: &GatewayClient) -> CliResult<String> {
    if id != LAST_SESSION {
        return Ok(id.to_owned());
    }
    let only = [("limit", "1".to_owned()), ("mine", "true".to_owned())];
    let text = client.get(&["api", "sessions"], &only).await?;
    let last = parse_response::<SessionList>(&text)?.sessions.into_iter().next();
    last.map(|session| session.id).ok_or_else(|| {
        CliError::new("there is no conversation yet")
            .with_code("session_not_found")
            .with_hint("`toolway chat` begins one")
    })
}

/// A session with what was said in it.
pub(crate) async fn fetch_session(id: &str, client: &GatewayClient) -> CliResult<SessionDetail> {
    parse_response(&client.get(&["api", "sessions", id], &[]).await?)
}

async fn list(args: &ListSessionsArgs, context: &CliContext) -> CliResult {
    let mut query = vec![("limit", args.limit.to_string())];
    for (field, value) in [("search", &args.search), ("agent", &args.agent), ("cursor", &args.cursor)] {
        query.extend(value.clone().map(|value| (field, value)));
    }
    let text = context.client(&args.connect)?.get(&["api", "sessions"], &query).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let page: SessionList = parse_response(&text)?;
    print_page(&page, context)?;
    if let Some(next) = &page.next_cursor {
        context.printer.note(&format!("there are more: add --before {next}"));
    }
    Ok(())
}

/// Lists the latest.
pub(crate) async fn print_list(limit: u32, client: &GatewayClient, context: &CliContext) -> CliResult {
    let text = client.get(&["api", "sessions"], &[("limit", limit.to_string())]).await?;
    print_page(&parse_response(&text)?, context)
}

fn print_page(page: &SessionList, context: &CliContext) -> CliResult {
    let moments = context.time_formatter();
    let mut table = TextTable::new(vec![
        TableColumn::fixed("id"),
        TableColumn::fixed("last"),
        TableColumn::truncatable("title", 12),
        TableColumn::truncatable("agent", 6).optional(),
        TableColumn::number("messages").optional(),
    ]);
    for session in &page.sessions {
        let last =
            if session.running { "answers now".to_owned() } else { moments.format_ago(session.updated_ms) };
        table.add_row(vec![
            session.id.as_str().into(),
            last.into(),
            TableCell::styled(session.title.as_deref().unwrap_or("(no title)"), Style::Name),
            session.agent.as_str().into(),
            session.message_count.to_string().into(),
        ]);
    }
    context.printer.table(&table, "there is no conversation that fits; `toolway chat` begins one")
}

async fn rename(args: &RenameSessionArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let body = RenameSessionRequest { title: args.title.clone() };
    let text = client.send(Method::PATCH, &["api", "sessions", &args.id], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    context.printer.line(&escape::line(&format!("{} is called {}", args.id, args.title)))
}

async fn delete(args: &RemoveSessionsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let query: &[_] = if args.calls { &[("calls", "true".to_owned())] } else { &[] };
    for id in &args.ids {
        client.send_empty_with_query(Method::DELETE, &["api", "sessions", id], query).await?;
        if !context.printer.json {
            context.printer.line(&escape::line(&format!("removed {id}")))?;
        }
    }
    if context.printer.json {
        return context.printer.json_value(&json!({"removed": args.ids}));
    }
    Ok(())
}
