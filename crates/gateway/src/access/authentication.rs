//! Finds the token of a request.

use std::borrow::Cow;

use axum::extract::Query;
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::request::Parts;
use toolway_wire::SUBPROTOCOL_BEARER;

/// Paths below which the token may also be in the address or in a subprotocol.
const SOCKETS: &str = "/ws/";

/// The token of a request, the first found of: `Authorization: Bearer`, and on sockets the subprotocol
/// `bearer.<token>` and `?token=`.
#[must_use]
pub fn find_token(parts: &Parts) -> Option<Cow<'_, str>> {
    let bearer = parts.headers.get_all(AUTHORIZATION).into_iter().find_map(|value| {
        let (scheme, token) = value.to_str().ok()?.trim().split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    if let Some(token) = bearer {
        return Some(token.into());
    }
    if !parts.uri.path().starts_with(SOCKETS) {
        return None;
    }
    let offered = parts.headers.get_all(SEC_WEBSOCKET_PROTOCOL).into_iter();
    let in_subprotocol = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(SUBPROTOCOL_BEARER));
    in_subprotocol.map(Cow::Borrowed).or_else(|| query_token(parts).map(Cow::Owned))
}

/// Returns whether a path is one of MCP's entry points. They are the same with a doubled slash.
pub(crate) fn is_for_mcp(path: &str) -> bool {
    path.trim_start_matches('/')
        .strip_prefix("mcp")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether the address has a token.
pub(super) fn has_query_token(parts: &Parts) -> bool {
    query_token(parts).is_some()
}

fn query_token(parts: &Parts) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    pairs.into_iter().find(|(name, _)| name == "token").map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
