//! Who is behind a token, by the names that people know them by.

use std::collections::HashMap;

use serde::Deserialize;

use crate::client::{Client, read};
use crate::report::{Done, Failure};

/// The id of the gateway's owner, who has a token that is not in the list of tokens.
const OWNER: &str = "owner";

#[derive(Debug, Deserialize)]
struct TokenList {
    tokens: Vec<Token>,
}

#[derive(Debug, Deserialize)]
struct Token {
    id: String,
    #[serde(default)]
    label: String,
    status: String,
}

/// All who have, or had, a token.
#[derive(Debug)]
pub(crate) struct Principals(Vec<Token>);

impl Principals {
    /// Asks the gateway.
    pub(crate) async fn of(client: &Client) -> Done<Self> {
        let text = client.get(&["api", "tokens"], &[("all", "true".to_owned())]).await?;
        Ok(Self(read::<TokenList>(&text)?.tokens))
    }

    /// The labels by id.
    pub(crate) fn labels(self) -> HashMap<String, String> {
        self.0.into_iter().map(|token| (token.id, token.label)).collect()
    }

    /// The id that is meant by an id, `owner`, or a label that only one token has that counts.
    pub(crate) fn find(&self, meant: &str) -> Done<String> {
        if meant == OWNER || self.0.iter().any(|token| token.id == meant) {
            return Ok(meant.to_owned());
        }
        let active: Vec<_> =
            self.0.iter().filter(|token| token.status == "active" && token.label == meant).collect();
        match active.as_slice() {
            [one] => Ok(one.id.clone()),
            [] => Err(Failure::new(format!("there is no token with the id or the label {meant:?}"))
                .code("token_not_found")
                .hint("`toolway tokens list` shows ids and labels; the owner is called owner")),
            several => {
                let ids: Vec<_> = several.iter().map(|token| token.id.as_str()).collect();
                Err(Failure::new(format!("{} tokens have the label {meant:?}", several.len()))
                    .code("label_ambiguous")
                    .hint(format!("say which, by its id: {}", ids.join(", "))))
            }
        }
    }
}

/// The id that is meant by what was typed; nothing is asked where that needs no asking.
pub(crate) async fn id_of(meant: &str, client: &Client) -> Done<String> {
    if meant == OWNER { Ok(meant.to_owned()) } else { Principals::of(client).await?.find(meant) }
}

/// Patterns of ids: what is a pattern already stays as it is.
pub(crate) async fn patterns_of(meant: &[String], client: &Client) -> Done<Vec<String>> {
    let is_pattern = |text: &str| text.contains(['*', '?', '[', '{', '\\']);
    if meant.iter().all(|one| is_pattern(one) || one == OWNER) {
        return Ok(meant.to_vec());
    }
    let known = Principals::of(client).await?;
    meant.iter().map(|one| if is_pattern(one) { Ok(one.clone()) } else { known.find(one) }).collect()
}

#[cfg(test)]
mod tests;
