//! Where a token is found in a request, and what handlers ask for: [`Authenticated`], [`Caller`], [`Owner`].

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Query};
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use http::request::Parts;
use toolway_wire::SUBPROTOCOL_BEARER;

use super::{AuthRejection, TokenState};
use crate::http::ApiError;
use crate::state::AppState;

/// Paths below which a token may also stand in the address or in a subprotocol.
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

/// Whether a path is one of MCP's doors.
pub(crate) fn is_for_mcp(path: &str) -> bool {
    path.strip_prefix("/mcp").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a token stands in the address.
pub(super) fn has_query_token(parts: &Parts) -> bool {
    query_token(parts).is_some()
}

fn query_token(parts: &Parts) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    pairs.into_iter().find(|(name, _)| name == "token").map(|(_, value)| value)
}

/// Whoever has a good token, of any role.
#[derive(Debug, Clone)]
pub struct AuthenticatedToken(pub Arc<TokenState>);

/// Whoever may list and call tools.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller(pub Arc<TokenState>);

/// The owner.
#[derive(Debug, Clone)]
pub struct AuthenticatedOwner(pub Arc<TokenState>);

impl FromRequestParts<Arc<AppState>> for AuthenticatedToken {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        match app.access.authenticate_any(parts).await {
            Ok(state) => Ok(Self(state)),
            Err(refusal) => Err(refuse(app, refusal)),
        }
    }
}

impl FromRequestParts<Arc<AppState>> for AuthenticatedCaller {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let AuthenticatedToken(state) = AuthenticatedToken::from_request_parts(parts, app).await?;
        if !state.role().may_call() {
            return Err(refuse(
                app,
                AuthRejection::Forbidden { role: state.role(), what: "list or call tools" },
            ));
        }
        Ok(Self(state))
    }
}

impl FromRequestParts<Arc<AppState>> for AuthenticatedOwner {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, ApiError> {
        let AuthenticatedToken(state) = AuthenticatedToken::from_request_parts(parts, app).await?;
        if !state.role().is_owner() {
            return Err(refuse(
                app,
                AuthRejection::Forbidden { role: state.role(), what: "do what only the owner may" },
            ));
        }
        Ok(Self(state))
    }
}

/// Counts a refusal and puts it in the form of REST.
pub(crate) fn refuse(app: &AppState, refusal: AuthRejection) -> ApiError {
    app.metrics.record_refusal(refusal.code());
    ApiError::from(refusal)
}

#[cfg(test)]
mod tests;
