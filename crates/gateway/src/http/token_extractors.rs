//! Extractors that authenticate a request: [`AuthenticatedToken`], [`AuthenticatedCaller`] and
//! [`AuthenticatedOwner`]. A handler that takes one of them runs only for tokens of such a role.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::ApiError;
use crate::access::{AuthRejection, TokenState};
use crate::state::AppState;

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
