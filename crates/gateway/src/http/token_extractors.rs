//! Extractors that authenticate a request: [`AuthenticatedToken`], [`AuthenticatedCaller`] and
//! [`AuthenticatedOwner`]. A handler that takes one of them runs only for tokens of such a role.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::ApiError;
use crate::access::{AuthRejection, TokenState};
use crate::metrics::GatewayMetrics;
use crate::state::RouterState;

/// A request with a valid token of any role.
#[derive(Debug, Clone)]
pub struct AuthenticatedToken(pub Arc<TokenState>);

/// A request of a caller that may list and call tools.
#[derive(Debug, Clone)]
pub struct AuthenticatedCaller(pub Arc<TokenState>);

/// A request of the owner.
#[derive(Debug, Clone)]
pub struct AuthenticatedOwner(pub Arc<TokenState>);

impl FromRequestParts<RouterState> for AuthenticatedToken {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, ApiError> {
        let app = &state.0;
        match app.access.authenticate_any(parts).await {
            Ok(token) => Ok(Self(token)),
            Err(rejection) => Err(refuse(&app.metrics, rejection)),
        }
    }
}

impl FromRequestParts<RouterState> for AuthenticatedCaller {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, ApiError> {
        let AuthenticatedToken(token) = AuthenticatedToken::from_request_parts(parts, state).await?;
        if !token.role().may_call() {
            return Err(refuse(
                &state.0.metrics,
                AuthRejection::Forbidden { role: token.role(), what: "list or call tools" },
            ));
        }
        Ok(Self(token))
    }
}

impl FromRequestParts<RouterState> for AuthenticatedOwner {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &RouterState) -> Result<Self, ApiError> {
        let AuthenticatedToken(token) = AuthenticatedToken::from_request_parts(parts, state).await?;
        if !token.role().is_owner() {
            return Err(refuse(
                &state.0.metrics,
                AuthRejection::Forbidden { role: token.role(), what: "do what only the owner may" },
            ));
        }
        Ok(Self(token))
    }
}

/// Counts a rejection and converts it to a response.
pub(crate) fn refuse(metrics: &GatewayMetrics, rejection: AuthRejection) -> ApiError {
    metrics.record_refusal(rejection.code());
    ApiError::from(rejection)
}
