//! The token of a desktop client. Each client has one token, with a label after the client, in a private file of the
//! data folder.

use std::path::PathBuf;

use reqwest::Method;
use toolway_api::tokens::{AssignableRole, CreateTokenRequest, CreateTokenResponse, TokenList, TokenSummary};

use crate::client::{GatewayClient, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::{create_private_dir, private_file};

/// Change of a client's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientTokenChange {
    Reused,
    Created,
}

/// Returns the label of the client's token.
fn token_label(client: &str) -> String {
    format!("MCP: {client}")
}

/// Creates the client's token, unless it already has a suitable one.
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

/// Revokes the client's token and removes its file. Without a gateway, only removes the file. Returns true if the
/// token was revoked.
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
