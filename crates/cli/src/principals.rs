//! Maps ids of principals to labels and back.

use std::collections::HashMap;

use toolway_api::tokens::{TokenList, TokenSummary};

use crate::client::{GatewayClient, parse_response};
use crate::error::{CliError, CliResult};

/// Id of the owner, whose token is not in the list of tokens.
const OWNER: &str = "owner";

/// All principals that have or had a token.
#[derive(Debug)]
pub(crate) struct PrincipalList(Vec<TokenSummary>);

impl PrincipalList {
    /// Fetches the list from the gateway.
    pub(crate) async fn fetch(client: &GatewayClient) -> CliResult<Self> {
        let text = client.get(&["api", "tokens"], &[("all", "true".to_owned())]).await?;
        Ok(Self(parse_response::<TokenList>(&text)?.tokens))
    }

    /// Returns the labels by id.
    pub(crate) fn labels(self) -> HashMap<String, String> {
        self.0.into_iter().map(|token| (token.id, token.label)).collect()
    }

    /// Resolves an id, `owner`, or the label of exactly one active token.
    pub(crate) fn find(&self, meant: &str) -> CliResult<String> {
        if meant == OWNER || self.0.iter().any(|token| token.id == meant) {
            return Ok(meant.to_owned());
        }
        let active: Vec<_> =
            self.0.iter().filter(|token| token.is_active() && token.label == meant).collect();
        match active.as_slice() {
            [one] => Ok(one.id.clone()),
            [] => Err(CliError::new(format!("no token has the id or label {meant:?}"))
                .with_code("token_not_found")
                .with_hint("list ids and labels with `toolway tokens list`; the owner's id is owner")),
            several => {
                let ids: Vec<_> = several.iter().map(|token| token.id.as_str()).collect();
                Err(CliError::new(format!("{} tokens have the label {meant:?}", several.len()))
                    .with_code("label_ambiguous")
                    .with_hint(format!("use the id: {}", ids.join(", "))))
            }
        }
    }
}

/// Resolves a principal; asks the gateway only if needed.
pub(crate) async fn find_principal_id(meant: &str, client: &GatewayClient) -> CliResult<String> {
    if meant == OWNER { Ok(meant.to_owned()) } else { PrincipalList::fetch(client).await?.find(meant) }
}

/// Resolves principals, except those that are patterns.
pub(crate) async fn resolve_patterns(meant: &[String], client: &GatewayClient) -> CliResult<Vec<String>> {
    let is_pattern = |text: &str| text.contains(['*', '?', '[', '{', '\\']);
    if meant.iter().all(|one| is_pattern(one) || one == OWNER) {
        return Ok(meant.to_vec());
    }
    let known = PrincipalList::fetch(client).await?;
    meant.iter().map(|one| if is_pattern(one) { Ok(one.clone()) } else { known.find(one) }).collect()
}

#[cfg(test)]
mod tests;
