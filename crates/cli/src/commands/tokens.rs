//! `toolway tokens`: tokens for clients and scripts.

use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{ConnectArgs, TokenPlace, read};
use crate::context::Context;
use crate::folder::private;
use crate::print::escape;
use crate::print::style::Style;
use crate::print::table::{Cell, Column, Table};
use crate::report::{Done, Failure};
use crate::when::When;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensCommand {
    /// Make a token; it is printed this once
    Create(CreateArgs),
    /// List the tokens, without their text
    List(ListArgs),
    /// Take a token back: what uses it ends at once
    Revoke(RevokeArgs),
    /// Replace the owner's token; the old one stops working at once
    #[command(visible_alias = "rotate")]
    RotateOwner(RotateArgs),
}

/// What a token lets its bearer do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GivenRole {
    /// Offers tools, nothing else
    Device,
    /// Offers and calls tools, and talks to agents: chat apps, the phone app
    Companion,
    /// Lists and calls tools, and talks to agents
    Client,
}

/// Flags of `tokens create`.
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// What it lets its bearer do
    #[arg(long, value_enum, default_value_t = GivenRole::Client)]
    role: GivenRole,
    /// A name by which you know it again
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The only agent it may use
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// When it ends by itself: in 30 days as 30d, or a date like 2027-01-01; without it, never
    #[arg(long, value_name = "WHEN")]
    expires: Option<When>,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Also those that were revoked or have expired
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens revoke`.
#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Id of the token, as `tokens list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Flags of `tokens rotate-owner`.
#[derive(Debug, Args)]
pub(crate) struct RotateArgs {
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Debug, Serialize)]
struct NewToken<'a> {
    role: GivenRole,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_s: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct MadeToken {
    id: String,
    token: String,
}

#[derive(Debug, Deserialize)]
struct TokenList {
    tokens: Vec<Token>,
}

#[derive(Debug, Deserialize)]
struct Token {
    id: String,
    role: String,
    label: String,
    status: String,
    agent: Option<String>,
    created_ms: i64,
    expires_ms: Option<i64>,
    last_used_ms: Option<i64>,
}

/// Runs the command.
pub(crate) async fn run(command: TokensCommand, context: &Context) -> Done {
    match command {
        TokensCommand::Create(args) => create(&args, context).await,
        TokensCommand::List(args) => list(&args, context).await,
        TokensCommand::Revoke(args) => revoke(&args, context).await,
        TokensCommand::RotateOwner(args) => rotate_owner(&args, context).await,
    }
}

async fn create(args: &CreateArgs, context: &Context) -> Done {
    let now = context.now_ms();
    let expires_ms = args.expires.as_ref().map(|when| when.future_ms(now, &context.zone()));
    if expires_ms.is_some_and(|at| at <= now) {
        return Err(Failure::usage("--expires does not lie in the future")
            .hint("say how long, as 30d, or a later date"));
    }
    let body = NewToken {
        role: args.role,
        label: args.label.as_deref(),
        agent: args.agent.as_deref(),
        expires_in_s: expires_ms.map(|at| crate::when::Span(at.saturating_sub(now)).seconds()),
    };
    let text = context.client(&args.connect)?.send(Method::POST, &["api", "tokens"], &body).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let made: MadeToken = read(&text)?;
    // The token alone on standard output, so that a script can keep it.
    context.printer.line(&escape::line(&made.token))?;
    context.printer.note(&format!(
        "keep it: it is not shown again. To take it back: toolway tokens revoke {}{}",
        made.id,
        context.folder.flag()
    ));
    Ok(())
}

async fn list(args: &ListArgs, context: &Context) -> Done {
    let all = if args.all { vec![("all", "true".to_owned())] } else { Vec::new() };
    let text = context.client(&args.connect)?.get(&["api", "tokens"], &all).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    let moments = context.moments();
    let mut table = Table::new(vec![
        Column::whole("id"),
        Column::whole("role"),
        Column::cut("label", 8),
        Column::whole("status"),
        Column::whole("last used"),
        Column::whole("expires").optional(),
        Column::cut("agent", 6).optional(),
        Column::whole("made").optional(),
    ]);
    for token in read::<TokenList>(&text)?.tokens {
        let style = if token.status == "active" { Style::Good } else { Style::Faint };
        table.row(vec![
            token.id.into(),
            token.role.into(),
            token.label.into(),
            Cell::styled(token.status, style),
            token.last_used_ms.map_or_else(|| "never".to_owned(), |ms| moments.ago(ms)).into(),
            token.expires_ms.map_or_else(|| "never".to_owned(), |ms| moments.ago(ms)).into(),
            token.agent.unwrap_or_default().into(),
            moments.local(token.created_ms).into(),
        ]);
    }
    context.printer.table(&table, "there are no tokens; `toolway tokens create` makes one")
}

async fn revoke(args: &RevokeArgs, context: &Context) -> Done {
    let text = context.client(&args.connect)?.ask(Method::DELETE, &["api", "tokens", &args.id]).await?;
    if context.printer.json {
        return if text.trim().is_empty() {
            context.printer.json_value(&json!({"id": args.id, "revoked": true}))
        } else {
            context.printer.raw_json(&text)
        };
    }
    context.printer.line(&format!("token {} is revoked", escape::line(&args.id)))
}

async fn rotate_owner(args: &RotateArgs, context: &Context) -> Done {
    let client = context.client(&args.connect)?;
    let text = client.ask(Method::POST, &["api", "tokens", "owner", "rotate"]).await?;
    if context.printer.json {
        return context.printer.raw_json(&text);
    }
    #[derive(Deserialize)]
    struct Rotated {
        token: String,
    }
    let Rotated { token } = read(&text)?;
    // The gateway writes its own data folder; a file that somebody named is theirs to be kept up to date, and
    // where the token came from a variable nothing but this shows the new one.
    match client.token_place() {
        TokenPlace::Folder(path) => context
            .printer
            .line(&format!("the owner's token is replaced; the new one is in {}", path.display())),
        TokenPlace::File(path) => match private::replace(path, format!("{token}\n").as_bytes()) {
            Ok(()) => context
                .printer
                .line(&format!("the owner's token is replaced; the new one is in {}", path.display())),
            Err(failure) => {
                context.printer.line(&escape::line(&token))?;
                Err(failure.hint(
                    "the owner's token is replaced all the same; the new one is printed above, keep it",
                ))
            }
        },
        TokenPlace::Variable => {
            context.printer.line(&escape::line(&token))?;
            context.printer.note("the owner's token is replaced; keep the new one, it is not shown again");
            Ok(())
        }
    }
}
