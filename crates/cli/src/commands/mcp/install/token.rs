//! A desktop client's own token: one a client, named after it, kept in the data folder for its owner alone.

use std::path::PathBuf;

use reqwest::Method;
use toolway_api::tokens::{AssignableRole, CreateTokenRequest, CreateTokenResponse, TokenList, TokenSummary};

use crate::client::{GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::{create_private_dir, private_file};

/// What became of a client's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientTokenChange {
    Reused,
    Created,
}

/// The label by which the token is known again.
fn token_label(client: &str) -> String {
    format!("MCP: {client}")
}

/// Makes the client's token, unless there is one that is as it should be.
pub(super) async fn ensure_token(
    client: &str,
    agent: Option<&str>,
    anew: bool,
    gateway: &GatewayClient,
    context: &CliContext,
) -> CliResult<ClientTokenChange> {
    let path = context.folder.mcp_client(client);
    let old = active_tokens(client, gateway).await?;
    let is_right = old.iter().any(|token| token.agent.as_deref() == agent);
    if !anew && is_right && private_file::read_token(&path)?.is_some() {
        return Ok(ClientTokenChange::Reused);
    }
    let body = CreateTokenRequest {
        role: AssignableRole::Client,
        label: Some(token_label(client)),
        agent: agent.map(str::to_owned),
        expires_in_s: None,
    };
    let made: CreateTokenResponse =
        parse_response(&gateway.send(Method::POST, &["api", "tokens"], &body).await?)?;
    context.folder.create()?;
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    private_file::replace(&path, format!("{}\n", made.token).as_bytes())?;
    revoke_tokens(&old, gateway).await?;
    Ok(ClientTokenChange::Created)
}

/// Takes the client's token back; where no gateway runs, only its file goes. Whether it was taken back.
pub(super) async fn remove_token(
    client: &str,
    gateway: Option<&GatewayClient>,
    context: &CliContext,
) -> CliResult<bool> {
    if let Some(gateway) = gateway {
        revoke_tokens(&active_tokens(client, gateway).await?, gateway).await?;
    }
    let path: PathBuf = context.folder.mcp_client(client);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(CliError::io("remove", &path, &error))
        }
        _ => Ok(gateway.is_some()),
    }
}

async fn active_tokens(client: &str, gateway: &GatewayClient) -> CliResult<Vec<TokenSummary>> {
    let all: TokenList = parse_response(&gateway.get(&["api", "tokens"], &[]).await?)?;
    let label = token_label(client);
    Ok(all.tokens.into_iter().filter(|token| token.label == label && token.is_active()).collect())
}

async fn revoke_tokens(tokens: &[TokenSummary], gateway: &GatewayClient) -> CliResult {
    for token in tokens {
        gateway.send_empty(Method::DELETE, &["api", "tokens", &token.id]).await?;
    }
    Ok(())
}
