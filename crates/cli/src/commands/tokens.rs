//! `toolway tokens`: tokens for clients and scripts.

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

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Make a token; it is printed this once
    Create(CreateTokenArgs),
    /// List the tokens, without their text
    List(ListTokensArgs),
    /// Take a token back: what uses it ends at once
    Revoke(RevokeTokenArgs),
    /// Replace the owner's token; the old one stops working at once
    #[command(visible_alias = "rotate")]
    RotateOwner(RotateOwnerTokenArgs),
}

/// What a token lets its bearer do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenRoleFlag {
    /// Offers tools, nothing else
    Device,
    /// Offers and calls tools, and talks to agents: chat apps, the phone app
    Companion,
    /// Lists and calls tools, and talks to agents
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
    /// What it lets its bearer do
    #[arg(long, value_enum, default_value_t = TokenRoleFlag::Client)]
    role: TokenRoleFlag,
    /// A name by which you know it again
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The only agent it may use
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// When it ends by itself: in 30 days as 30d, or a date like 2027-01-01; without it, never
    #[arg(long, value_name = "WHEN")]
    expires: Option<TimeArg>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens list`.
#[derive(Debug, Args)]
pub(crate) struct ListTokensArgs {
    /// Also those that were revoked or have expired
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
        return Err(CliError::usage("--expires does not lie in the future")
            .with_hint("say how long, as 30d, or a later date"));
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
    // The token alone on standard output, so that a script can keep it.
    context.printer.line(&escape::line(&made.token))?;
    context.printer.note(&format!(
        "keep it: it is not shown again. To take it back: toolway tokens revoke {}{}",
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
        TableColumn::fixed("made").optional(),
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
    context.printer.table(&table, "there are no tokens; `toolway tokens create` makes one")
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
    context.printer.line(&format!("token {} is revoked", escape::line(&args.id)))
}

async fn rotate_owner(args: &RotateOwnerTokenArgs, context: &CliContext) -> CliResult {
    let client = context.client(&args.connect)?;
    let text = client.send_empty(Method::POST, &["api", "tokens", "owner", "rotate"]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let RotateOwnerTokenResponse { token, .. } = parse_response(&text)?;
    // The gateway writes its own data folder; a file that somebody named is theirs to be kept up to date, and
    // where the token came from a variable nothing but this shows the new one.
    match client.token_place() {
        TokenLocation::DataFolder(path) => context
            .printer
            .line(&format!("the owner's token is replaced; the new one is in {}", path.display())),
        TokenLocation::File(path) => match private_file::replace(path, format!("{token}\n").as_bytes()) {
            Ok(()) => context
                .printer
                .line(&format!("the owner's token is replaced; the new one is in {}", path.display())),
            Err(failure) => {
                context.printer.line(&escape::line(&token))?;
                Err(failure.with_hint(
                    "the owner's token is replaced all the same; the new one is printed above, keep it",
                ))
            }
        },
        TokenLocation::EnvVar => {
            context.printer.line(&escape::line(&token))?;
            context.printer.note("the owner's token is replaced; keep the new one, it is not shown again");
            Ok(())
        }
    }
}
