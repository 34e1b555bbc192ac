//! A desktop client's own token: one a client, named after it, kept in the data folder for its owner alone.

use std::path::PathBuf;

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use crate::client::{Client, read};
use crate::context::Context;
use crate::folder::{create_private_dir, private};
use crate::report::{Done, Failure};

/// What became of a client's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Kept,
    Made,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    tokens: Vec<Listed>,
}

#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    label: String,
    status: String,
    agent: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Made {
    token: String,
}

/// The label by which the token is known again.
fn label(client: &str) -> String {
    format!("MCP: {client}")
}

/// Makes the client's token, unless there is one that is as it should be.
pub(super) async fn make(
    client: &str,
    agent: Option<&str>,
    anew: bool,
    gateway: &Client,
    context: &Context,
) -> Done<Token> {
    let path = context.folder.mcp_client(client);
    let old = live(client, gateway).await?;
    let is_right = old.iter().any(|token| token.agent.as_deref() == agent);
    if !anew && is_right && private::read_token(&path)?.is_some() {
        return Ok(Token::Kept);
    }
    let mut body = json!({"role": "client", "label": label(client)});
    if let (Some(agent), Some(fields)) = (agent, body.as_object_mut()) {
        fields.insert("agent".to_owned(), agent.into());
    }
    let made: Made = read(&gateway.send(Method::POST, &["api", "tokens"], &body).await?)?;
    context.folder.create()?;
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    private::replace(&path, format!("{}\n", made.token).as_bytes())?;
    revoke(&old, gateway).await?;
    Ok(Token::Made)
}

/// Takes the client's token back; where no gateway runs, only its file goes. Whether it was taken back.
pub(super) async fn forget(client: &str, gateway: Option<&Client>, context: &Context) -> Done<bool> {
    if let Some(gateway) = gateway {
        revoke(&live(client, gateway).await?, gateway).await?;
    }
    let path: PathBuf = context.folder.mcp_client(client);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::io("remove", &path, &error))
        }
        _ => Ok(gateway.is_some()),
    }
}

async fn live(client: &str, gateway: &Client) -> Done<Vec<Listed>> {
    let all: Tokens = read(&gateway.get(&["api", "tokens"], &[]).await?)?;
    let label = label(client);
    Ok(all.tokens.into_iter().filter(|token| token.label == label && token.status == "active").collect())
}

async fn revoke(tokens: &[Listed], gateway: &Client) -> Done {
    for token in tokens {
        gateway.ask(Method::DELETE, &["api", "tokens", &token.id]).await?;
    }
    Ok(())
}
