//! Under which token a client uses the gateway: one of its own, and never the owner's.

use std::io;
use std::path::{Path, PathBuf};

use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::StdioArgs;
use crate::client::find::{given_token, no_token, owner_token};
use crate::client::{Client, Place, TokenPlace, read};
use crate::context::Context;
use crate::folder::{create_private_dir, private};
use crate::report::{Done, Failure};

/// The client whose token is made where none is named.
const AUTOMATIC: &str = "mcp-stdio";
/// How the owner's token begins.
const OWNERS: &str = "twy_o_";

/// A token to show.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: SecretString,
    pub(super) place: TokenPlace,
    /// Whether this program made it, so that it may make another.
    pub(super) is_automatic: bool,
}

/// The token of a client.
pub(super) async fn find(args: &StdioArgs, place: &Place, context: &Context) -> Done<Token> {
    if let Some(client) = &args.client {
        return of_client(client, context);
    }
    if let Some((text, place)) = given_token(&args.connect, context)? {
        if text.expose_secret().starts_with(OWNERS) {
            return Err(Failure::new(format!(
                "the token in {place} is the owner's, which no client is given"
            ))
            .code("owner_token")
            .hint("make one with `toolway tokens create --role client`, or name none: then one is made"));
        }
        return Ok(Token { text, place, is_automatic: false });
    }
    if !place.is_here {
        return Err(no_token(&place.url));
    }
    let path = file(AUTOMATIC, context);
    match private::read_token(&path)? {
        Some(text) => Ok(Token { text, place: TokenPlace::Folder(path), is_automatic: true }),
        None => make(&path, None, place, context).await,
    }
}

/// Another in the place of one that is refused; for one that this program made.
pub(super) async fn renew(refused: &Token, place: &Place, context: &Context) -> Done<Token> {
    make(&file(AUTOMATIC, context), Some(&refused.text), place, context).await
}

fn file(client: &str, context: &Context) -> PathBuf {
    context.folder.mcp_client(client)
}

fn of_client(client: &str, context: &Context) -> Done<Token> {
    let is_name =
        !client.is_empty() && client.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_name || client.starts_with('.') {
        return Err(Failure::usage(format!("--client: {client:?} is not the name of a client"))
            .hint("name it as `toolway mcp install` did, as claude-desktop"));
    }
    let path = file(client, context);
    let Some(text) = private::read_token(&path)? else {
        return Err(Failure::new(format!("there is no token for the client {client}"))
            .code("no_token")
            .hint(format!("`toolway mcp install --client {client}{}` makes one", context.folder.flag())));
    };
    Ok(Token { text, place: TokenPlace::Folder(path), is_automatic: false })
}

#[derive(Deserialize)]
struct Made {
    id: String,
    token: String,
}

/// Makes a token as the owner and keeps it. Where another process was quicker, its token is taken.
async fn make(path: &Path, refused: Option<&SecretString>, place: &Place, context: &Context) -> Done<Token> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let kept =
        |text: SecretString| Token { text, place: TokenPlace::Folder(path.to_owned()), is_automatic: true };
    if let Some(there) = others(path, refused)? {
        return Ok(kept(there));
    }
    let owner = owner(place, context)?;
    let body = json!({"role": "client", "label": AUTOMATIC});
    let made: Made = read(&owner.send(Method::POST, &["api", "tokens"], &body).await?)?;
    match keep(path, &made.token, refused) {
        Ok(None) => Ok(kept(made.token.into())),
        Ok(Some(there)) => {
            // That nobody uses ours is all that matters.
            let _ = owner.ask(Method::DELETE, &["api", "tokens", &made.id]).await;
            Ok(kept(there))
        }
        Err(failure) => {
            let _ = owner.ask(Method::DELETE, &["api", "tokens", &made.id]).await;
            Err(failure)
        }
    }
}

fn owner(place: &Place, context: &Context) -> Done<Client> {
    let (token, token_place) = owner_token(&context.folder)?;
    Client::new(place.clone().with(token, token_place))
}

/// What a file holds by now, where that is not what was refused.
fn others(path: &Path, refused: Option<&SecretString>) -> Done<Option<SecretString>> {
    let there = private::read_token(path)?;
    Ok(there.filter(|there| refused.is_none_or(|refused| there.expose_secret() != refused.expose_secret())))
}

/// Puts a token into its file. Gives the one that is there where somebody was quicker.
fn keep(path: &Path, token: &str, refused: Option<&SecretString>) -> Done<Option<SecretString>> {
    let bytes = format!("{token}\n");
    if refused.is_some() {
        if let Some(there) = others(path, refused)? {
            return Ok(Some(there));
        }
        return private::replace(path, bytes.as_bytes()).map(|()| None);
    }
    match private::write_whole_new(path, bytes.as_bytes()) {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => others(path, None),
        Err(error) => Err(Failure::io("write", path, &error)),
    }
}
