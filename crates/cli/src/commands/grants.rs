//! `toolway grants`: manages stored answers, which make repeated approvals unnecessary.

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::json;
use toolway_api::grants::{CreateGrantRequest, GrantDecision, GrantList, GrantView};

use crate::client::{ConnectArgs, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::principals::{PrincipalList, find_principal_id};
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};
use crate::time_args::{DurationArg, TimeArg};

/// Subcommands of `toolway grants`.
#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List active grants
    #[command(after_help = "Example:\n  toolway grants list")]
    List(ListGrantsArgs),
    /// Allow or deny calls in advance
    #[command(
        after_help = "Examples:\n  toolway grants add 'pixel-8/*' --agent cook --expires 30d\n  toolway grants add '*/delete_*' --deny"
    )]
    Add(AddGrantArgs),
    /// Revoke a grant: the next call needs approval again
    #[command(after_help = "Example:\n  toolway grants revoke 0192f3a1-7c3e-7d51-9b5a-3f6f0a2b8c11")]
    Revoke(RevokeGrantArgs),
}

/// Flags of `grants list`.
#[derive(Debug, Args)]
pub(crate) struct ListGrantsArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `grants add`.
#[derive(Debug, Args)]
pub(crate) struct AddGrantArgs {
    /// Tools, as a SOURCE/TOOL pattern: pixel-8/camera, 'pixel-8/*', '*/read_*'
    #[arg(value_name = "TOOL-PATTERN")]
    tool: String,
    /// Only calls of this caller: owner, a token's id, or its label (default: every caller)
    #[arg(long, value_name = "PRINCIPAL", conflicts_with = "agent")]
    principal: Option<String>,
    /// Only calls of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Permission to grant (default: permission to run)
    #[arg(long, value_name = "PERMISSION")]
    permission: Option<String>,
    /// Deny the calls instead, without asking anyone
    #[arg(long)]
    deny: bool,
    /// Expiry: a duration like 30d, or a date like 2027-01-01 (default: never)
    #[arg(long, value_name = "WHEN")]
    expires: Option<TimeArg>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `grants revoke`.
#[derive(Debug, Args)]
pub(crate) struct RevokeGrantArgs {
    /// Id of the grant, as `grants list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

fn is_granted(grant: &GrantView) -> bool {
    grant.decision == GrantDecision::Granted.as_str()
}

/// Returns the granted permission.
fn permission_text(grant: &GrantView) -> String {
    grant.permission.clone().unwrap_or_else(|| "to run".to_owned())
}

/// Returns a description of the covered calls.
fn subject_text(grant: &GrantView, name: impl Fn(&str) -> String) -> String {
    match (&grant.principal, &grant.agent, &grant.session_id) {
        (Some(principal), _, Some(session)) => format!("{}, session {session}", name(principal)),
        (Some(principal), ..) => name(principal),
        (None, Some(agent), _) => format!("agent {agent}"),
        (None, None, _) => "anyone".to_owned(),
    }
}

/// Runs the command.
pub(crate) async fn run(command: GrantsCommand, context: &CliContext) -> CliResult {
    match command {
        GrantsCommand::List(args) => list(&args, context).await,
        GrantsCommand::Add(args) => add(&args, context).await,
        GrantsCommand::Revoke(args) => revoke(&args, context).await,
    }
}

async fn list(args: &ListGrantsArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let text = client.get(&["api", "grants"], &[]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let grants = parse_response::<GrantList>(&text)?.grants;
    let labels =
        if grants.is_empty() { Default::default() } else { PrincipalList::fetch(&client).await?.labels() };
    // Show labels if there are any; the JSON output has the ids.
    let name = |id: &str| labels.get(id).filter(|label| !label.is_empty()).cloned().unwrap_or(id.to_owned());
    let moments = context.time_formatter();
    let mut table = TextTable::new(vec![
        TableColumn::fixed("id"),
        TableColumn::fixed("answer"),
        TableColumn::truncatable("tools", 12),
        TableColumn::fixed("permission"),
        TableColumn::truncatable("callers", 8),
        TableColumn::fixed("ends").optional(),
        TableColumn::truncatable("by", 6).optional(),
        TableColumn::fixed("created").optional(),
    ]);
    for grant in grants {
        let (answer, style) =
            if is_granted(&grant) { ("granted", Style::Good) } else { ("denied", Style::Error) };
        table.add_row(vec![
            grant.id.as_str().into(),
            TableCell::styled(answer, style),
            TableCell::styled(&grant.tool, Style::Name),
            permission_text(&grant).into(),
            subject_text(&grant, name).into(),
            grant.expires_ms.map_or_else(|| "never".to_owned(), |ms| moments.format_ago(ms)).into(),
            name(&grant.created_by).into(),
            moments.format_local(grant.created_ms).into(),
        ]);
    }
    context.printer.table(&table, "no grants; add one with `toolway grants add`")
}

async fn add(args: &AddGrantArgs, context: &CliContext) -> CliResult {
    let now = context.now_ms();
    let expires_ms = args.expires.as_ref().map(|when| when.future_ms(now, &context.zone()));
    if expires_ms.is_some_and(|at| at <= now) {
        return Err(CliError::usage("--expires must be in the future")
            .with_hint("use a duration like 30d, or a later date"));
    }
    let client = context.client(&args.connect)?;
    let principal = match &args.principal {
        Some(meant) => Some(find_principal_id(meant, &client).await?),
        None => None,
    };
    let body = CreateGrantRequest {
        tool: args.tool.clone(),
        permission: args.permission.clone(),
        principal,
        agent: args.agent.clone(),
        decision: if args.deny { GrantDecision::DeniedAlways } else { GrantDecision::Granted },
        expires_in_s: expires_ms.map(|at| DurationArg(at.saturating_sub(now)).seconds()),
    };
    let text = client.send(Method::POST, &["api", "grants"], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let grant: GrantView = parse_response(&text)?;
    let verb = if is_granted(&grant) { "granted" } else { "denied" };
    let meant = args.principal.clone();
    let whose = subject_text(&grant, |id| meant.clone().unwrap_or_else(|| id.to_owned()));
    context.printer.line(&escape::line(&format!(
        "{verb}: {} {}, for {whose}",
        grant.tool,
        permission_text(&grant)
    )))?;
    context.printer.note(&format!(
        "to revoke it: toolway grants revoke {}{}",
        grant.id,
        context.folder.data_dir_flag()
    ));
    Ok(())
}

async fn revoke(args: &RevokeGrantArgs, context: &CliContext) -> CliResult {
    context.client(&args.connect)?.send_empty(Method::DELETE, &["api", "grants", &args.id]).await?;
    if context.printer.json {
        return context.printer.json_value(&json!({"id": args.id, "revoked": true}));
    }
    context.printer.line(&format!("revoked {}; new calls can no longer use it", escape::line(&args.id)))
}
