//! Selects the token of an MCP client: its own, never the owner's.

use std::io;
use std::path::{Path, PathBuf};

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use toolway_api::tokens::{AssignableRole, CreateTokenRequest, CreateTokenResponse};

use super::StdioArgs;
use crate::client::target::{explicit_token, missing_token_error, owner_token};
use crate::client::{GatewayAddress, GatewayClient, TokenLocation, parse_response};
use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::folder::{create_private_dir, private_file};

/// Name of the client whose token is created automatically.
const AUTOMATIC_CLIENT: &str = "mcp-stdio";
/// Prefix of an owner's token.
const OWNER_TOKEN_PREFIX: &str = "twy_o_";

/// Token of the bridge.
#[derive(Debug)]
pub(super) struct BridgeToken {
    pub(super) secret: SecretString,
    pub(super) location: TokenLocation,
    /// True if this program created the token, so that it may create another.
    pub(super) is_automatic: bool,
}

/// Finds the client's token, or creates one.
pub(super) async fn find_token(
    args: &StdioArgs,
    place: &GatewayAddress,
    context: &CliContext,
) -> CliResult<BridgeToken> {
    if let Some(client) = &args.client {
        return client_token(client, context);
    }
    if let Some((text, place)) = explicit_token(&args.connect, context)? {
        if text.expose_secret().starts_with(OWNER_TOKEN_PREFIX) {
            return Err(CliError::new(format!(
                "the token in {place} is the owner's token, which MCP clients must not use"
            ))
            .with_code("owner_token")
            .with_hint(
                "create one with `toolway tokens create --role client`, or omit the token to create one automatically",
            ));
        }
        return Ok(BridgeToken { secret: text, location: place, is_automatic: false });
    }
    if !place.is_local {
        return Err(missing_token_error(&place.url));
    }
    let path = token_path(AUTOMATIC_CLIENT, context);
    match private_file::read_token(&path)? {
        Some(text) => {
            Ok(BridgeToken { secret: text, location: TokenLocation::DataFolder(path), is_automatic: true })
        }
        None => create_token(&path, None, place, context).await,
    }
}

/// Replaces a rejected token that this program created.
pub(super) async fn renew_token(
    refused: &BridgeToken,
    place: &GatewayAddress,
    context: &CliContext,
) -> CliResult<BridgeToken> {
    create_token(&token_path(AUTOMATIC_CLIENT, context), Some(&refused.secret), place, context).await
}

fn token_path(client: &str, context: &CliContext) -> PathBuf {
    context.folder.mcp_client(client)
}

fn client_token(client: &str, context: &CliContext) -> CliResult<BridgeToken> {
    let is_name =
        !client.is_empty() && client.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_name || client.starts_with('.') {
        return Err(CliError::usage(format!("--client: invalid client name {client:?}"))
            .with_hint("use the name from `toolway mcp install`, for example claude-desktop"));
    }
    let path = token_path(client, context);
    let Some(text) = private_file::read_token(&path)? else {
        return Err(CliError::new(format!("no token for the client {client}"))
            .with_code("no_token")
            .with_hint(format!(
                "create one with `toolway mcp install --client {client}{}`",
                context.folder.data_dir_flag()
            )));
    };
    Ok(BridgeToken { secret: text, location: TokenLocation::DataFolder(path), is_automatic: false })
}

/// Creates a token as the owner and stores it. If another process was faster, uses that token.
async fn create_token(
    path: &Path,
    refused: Option<&SecretString>,
    place: &GatewayAddress,
    context: &CliContext,
) -> CliResult<BridgeToken> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let kept = |text: SecretString| BridgeToken {
        secret: text,
        location: TokenLocation::DataFolder(path.to_owned()),
        is_automatic: true,
    };
    if let Some(there) = other_token(path, refused)? {
        return Ok(kept(there));
    }
    let owner = owner_client(place, context)?;
    let body = CreateTokenRequest {
        role: AssignableRole::Client,
        label: Some(AUTOMATIC_CLIENT.to_owned()),
        agent: None,
        expires_in_s: None,
    };
    let made: CreateTokenResponse =
        parse_response(&owner.send(Method::POST, &["api", "tokens"], &body).await?)?;
    match save_token(path, &made.token, refused) {
        Ok(None) => Ok(kept(made.token.into())),
        Ok(Some(there)) => {
            // Best effort: nobody uses this token.
            let _ = owner.send_empty(Method::DELETE, &["api", "tokens", &made.summary.id]).await;
            Ok(kept(there))
        }
        Err(failure) => {
            let _ = owner.send_empty(Method::DELETE, &["api", "tokens", &made.summary.id]).await;
            Err(failure)
        }
    }
}

fn owner_client(place: &GatewayAddress, context: &CliContext) -> CliResult<GatewayClient> {
    let (token, token_place) = owner_token(&context.folder)?;
    GatewayClient::new(place.clone().with_token(token, token_place))
}

/// Returns the token in the file, unless it is the rejected one.
fn other_token(path: &Path, refused: Option<&SecretString>) -> CliResult<Option<SecretString>> {
    let there = private_file::read_token(path)?;
    Ok(there.filter(|there| refused.is_none_or(|refused| there.expose_secret() != refused.expose_secret())))
}

/// Stores a token. If another process was faster, returns the existing token.
fn save_token(path: &Path, token: &str, refused: Option<&SecretString>) -> CliResult<Option<SecretString>> {
    let bytes = format!("{token}\n");
    if refused.is_some() {
        if let Some(there) = other_token(path, refused)? {
            return Ok(Some(there));
        }
        return private_file::replace(path, bytes.as_bytes()).map(|()| None);
    }
    match toolway_files::private_file::write_new(path, bytes.as_bytes()) {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => other_token(path, None),
        Err(error) => Err(CliError::io("write", path, &error)),
    }
}
