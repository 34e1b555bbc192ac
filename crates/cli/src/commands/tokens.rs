//! `toolway tokens`: manages tokens for clients and scripts.

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde_json::json;
use toolway_api::tokens::{
    AssignableRole, CreateTokenRequest, CreateTokenResponse, RotateOwnerTokenResponse, TokenList,
};

use crate::client::{ConnectArgs, TokenLocation, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::private_file;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{TableCell, TableColumn, TextTable};
use crate::time_args::TimeArg;

/// Subcommands of `toolway tokens`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Create a token and print it once
    #[command(
        after_help = "Examples:\n  toolway tokens create --label laptop --expires 30d\n  toolway tokens create --role companion --agent cook"
    )]
    Create(CreateTokenArgs),
    /// List the tokens, without their secret text
    #[command(after_help = "Example:\n  toolway tokens list --all")]
    List(ListTokensArgs),
    /// Revoke a token and close its connections
    #[command(after_help = "Example:\n  toolway tokens revoke 0192f3a1-7c3e-7d51-9b5a-3f6f0a2b8c11")]
    Revoke(RevokeTokenArgs),
    /// Replace the owner's token; the old one stops working immediately
    #[command(after_help = "Example:\n  toolway tokens rotate-owner")]
    #[command(visible_alias = "rotate")]
    RotateOwner(RotateOwnerTokenArgs),
}

/// Role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenRoleFlag {
    /// Share tools only
    Device,
    /// Share and call tools, and chat with agents: chat apps, the phone app
    Companion,
    /// List and call tools, and chat with agents
    Client,
}

impl From<TokenRoleFlag> for AssignableRole {
    fn from(flag: TokenRoleFlag) -> Self {
        match flag {
            TokenRoleFlag::Device => Self::Device,
            TokenRoleFlag::Companion => Self::Companion,
            TokenRoleFlag::Client => Self::Client,
        }
    }
}

/// Flags of `tokens create`.
#[derive(Debug, Args)]
pub(crate) struct CreateTokenArgs {
    /// Role of the token
    #[arg(long, value_enum, default_value_t = TokenRoleFlag::Client)]
    role: TokenRoleFlag,
    /// Label for recognizing it later
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Only agent that it may use
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Expiry: a duration like 30d, or a date like 2027-01-01 (default: never)
    #[arg(long, value_name = "WHEN")]
    expires: Option<TimeArg>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens list`.
#[derive(Debug, Args)]
pub(crate) struct ListTokensArgs {
    /// Also list revoked and expired tokens
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens revoke`.
#[derive(Debug, Args)]
pub(crate) struct RevokeTokenArgs {
    /// Id of the token, as `tokens list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens rotate-owner`.
#[derive(Debug, Args)]
pub(crate) struct RotateOwnerTokenArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Runs the command.
pub(crate) async fn run(command: TokensCommand, context: &CliContext) -> CliResult {
    match command {
        TokensCommand::Create(args) => create(&args, context).await,
        TokensCommand::List(args) => list(&args, context).await,
        TokensCommand::Revoke(args) => revoke(&args, context).await,
        TokensCommand::RotateOwner(args) => rotate_owner(&args, context).await,
    }
}

async fn create(args: &CreateTokenArgs, context: &CliContext) -> CliResult {
    let now = context.now_ms();
    let expires_ms = args.expires.as_ref().map(|when| when.future_ms(now, &context.zone()));
    if expires_ms.is_some_and(|at| at <= now) {
        return Err(CliError::usage("--expires must be in the future")
            .with_hint("use a duration like 30d, or a later date"));
    }
    let body = CreateTokenRequest {
        role: args.role.into(),
        label: args.label.clone(),
        agent: args.agent.clone(),
        expires_in_s: expires_ms.map(|at| crate::time_args::DurationArg(at.saturating_sub(now)).seconds()),
    };
    let text = context.client(&args.connect)?.send(Method::POST, &["api", "tokens"], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let made: CreateTokenResponse = parse_response(&text)?;
    // Print only the token to standard output, so that a script can capture it.
    context.printer.line(&escape::line(&made.token))?;
    context.printer.note(&format!(
        "store the token: it is not shown again. To revoke it: toolway tokens revoke {}{}",
        made.summary.id,
        context.folder.data_dir_flag()
    ));
    Ok(())
}

async fn list(args: &ListTokensArgs, context: &CliContext) -> CliResult {
    let all = if args.all { vec![("all", "true".to_owned())] } else { Vec::new() };
    let text = context.client(&args.connect)?.get(&["api", "tokens"], &all).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let moments = context.time_formatter();
    let mut table = TextTable::new(vec![
        TableColumn::fixed("id"),
        TableColumn::fixed("role"),
        TableColumn::truncatable("label", 8),
        TableColumn::fixed("status"),
        TableColumn::fixed("last used"),
        TableColumn::fixed("expires").optional(),
        TableColumn::truncatable("agent", 6).optional(),
        TableColumn::fixed("created").optional(),
    ]);
    for token in parse_response::<TokenList>(&text)?.tokens {
        let style = if token.is_active() { Style::Good } else { Style::Faint };
        table.add_row(vec![
            token.id.into(),
            token.role.into(),
            token.label.into(),
            TableCell::styled(token.status, style),
            token.last_used_ms.map_or_else(|| "never".to_owned(), |ms| moments.format_ago(ms)).into(),
            token.expires_ms.map_or_else(|| "never".to_owned(), |ms| moments.format_ago(ms)).into(),
            token.agent.unwrap_or_default().into(),
            moments.format_local(token.created_ms).into(),
        ]);
    }
    context.printer.table(&table, "no tokens; create one with `toolway tokens create`")
}

async fn revoke(args: &RevokeTokenArgs, context: &CliContext) -> CliResult {
    let text =
        context.client(&args.connect)?.send_empty(Method::DELETE, &["api", "tokens", &args.id]).await?;
    if context.printer.json {
        return if text.trim().is_empty() {
            context.printer.json_value(&json!({"id": args.id, "revoked": true}))
        } else {
            context.printer.raw_json(&text)
        };
    }
    context.printer.line(&format!("revoked the token {}", escape::line(&args.id)))
}

async fn rotate_owner(args: &RotateOwnerTokenArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let text = client.send_empty(Method::POST, &["api", "tokens", "owner", "rotate"]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let RotateOwnerTokenResponse { token, .. } = parse_response(&text)?;
    // The gateway updates its own data folder. A file of --token-file is updated here. A token from a variable can
    // only be printed.
    match client.token_place() {
        TokenLocation::DataFolder(path) => {
            context.printer.line(&format!("replaced the owner's token; the new one is in {}", path.display()))
        }
        TokenLocation::File(path) => match private_file::replace(path, format!("{token}\n").as_bytes()) {
            Ok(()) => context
                .printer
                .line(&format!("replaced the owner's token; the new one is in {}", path.display())),
            Err(failure) => {
                context.printer.line(&escape::line(&token))?;
                Err(failure
                    .with_hint("the owner's token was replaced; store the new one, which is printed above"))
            }
        },
        TokenLocation::EnvVar => {
            context.printer.line(&escape::line(&token))?;
            context.printer.note("replaced the owner's token; store the new one, it is not shown again");
            Ok(())
        }
    }
}
