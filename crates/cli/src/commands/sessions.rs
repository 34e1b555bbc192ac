//! `toolway sessions`: manages stored conversations.

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

/// Id that stands for the latest session.
const LAST_SESSION: &str = "last";

/// Flags of `sessions`, which lists sessions without a subcommand.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Option<SessionsCommand>,
    #[command(flatten)]
    list: ListSessionsArgs,
}

/// Subcommands of `toolway sessions`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List conversations, latest first
    #[command(after_help = "Example:\n  toolway sessions list --search holiday")]
    List(ListSessionsArgs),
    /// Show a conversation with its messages, tool calls and token usage
    #[command(after_help = "Example:\n  toolway sessions show last")]
    Show(show::ShowSessionArgs),
    /// Change the title of a conversation
    #[command(
        after_help = "Example:\n  toolway sessions rename 0192f3a1-7c3e-7d51-9b5a-3f6f0a2b8c11 \"Holiday plans\""
    )]
    Rename(RenameSessionArgs),
    /// Delete conversations with all their messages
    #[command(after_help = "Example:\n  toolway sessions remove 0192f3a1-7c3e-7d51-9b5a-3f6f0a2b8c11")]
    Remove(RemoveSessionsArgs),
    /// Export a conversation as Markdown or JSON
    #[command(after_help = "Example:\n  toolway sessions export last --output chat.md")]
    Export(export::ExportSessionArgs),
}

/// Flags of `sessions list`.
#[derive(Debug, Args)]
pub(crate) struct ListSessionsArgs {
    /// Only conversations whose title or messages contain this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only conversations with this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Maximum number of conversations
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Cursor printed by the previous page
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
    /// New title
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
    /// Also delete the records of their tool calls
    #[arg(long)]
    calls: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Returns the last user message and the answer to it.
pub(crate) fn last_exchange(session: &SessionDetail) -> &[SessionMessage] {
    let start = session.messages.iter().rposition(is_from_user).unwrap_or_default();
    session.messages.get(start..).unwrap_or_default()
}

/// True if the user wrote the message.
pub(crate) fn is_from_user(message: &SessionMessage) -> bool {
    message.role == "user"
}

/// Returns the parts of a message.
pub(crate) fn message_parts(message: &SessionMessage) -> CliResult<Vec<MessagePart>> {
    message.read_parts().map_err(unreadable_response)
}

/// Returns the text of a message.
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

/// Resolves `last` to the id of the latest session.
pub(crate) async fn resolve_session_id(id: &str, client: &GatewayClient) -> CliResult<String> {
    if id != LAST_SESSION {
        return Ok(id.to_owned());
    }
    let only = [("limit", "1".to_owned()), ("mine", "true".to_owned())];
    let text = client.get(&["api", "sessions"], &only).await?;
    let last = parse_response::<SessionList>(&text)?.sessions.into_iter().next();
    last.map(|session| session.id).ok_or_else(|| {
        CliError::new("no conversation yet")
            .with_code("session_not_found")
            .with_hint("start one with `toolway chat`")
    })
}

/// Fetches a session with its messages.
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
        context.printer.note(&format!("for more, add --cursor {next}"));
    }
    Ok(())
}

/// Prints the latest sessions.
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
            if session.running { "running".to_owned() } else { moments.format_ago(session.updated_ms) };
        table.add_row(vec![
            session.id.as_str().into(),
            last.into(),
            TableCell::styled(session.title.as_deref().unwrap_or("(no title)"), Style::Name),
            session.agent.as_str().into(),
            session.message_count.to_string().into(),
        ]);
    }
    context.printer.table(&table, "no matching conversations; start one with `toolway chat`")
}

async fn rename(args: &RenameSessionArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let body = RenameSessionRequest { title: args.title.clone() };
    let text = client.send(Method::PATCH, &["api", "sessions", &args.id], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    context.printer.line(&escape::line(&format!("renamed {} to {}", args.id, args.title)))
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
