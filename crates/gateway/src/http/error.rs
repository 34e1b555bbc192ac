//! The format of every HTTP error: `{"error":{"code","message","hint"?}}`.

use std::borrow::Cow;
use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, StatusCode, Uri};
use toolway_api::{ErrorDetail, ErrorResponse};
use toolway_store::StoreError;
use toolway_types::text::{MAX_MESSAGE, shorten};

use crate::access::origin::BadOrigin;
use crate::access::pairing::PairingCodeError;
use crate::access::{AccessError, AuthRejection, PairRefusal};
use crate::state::TooManyEventStreams;

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// For programs; codes are added, never renamed.
    pub code: Cow<'static, str>,
    /// The error, for people.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<String>,
    /// The time after which the client may retry.
    pub retry_after: Option<Duration>,
}

/// Marks the response to a valid token that lacks a scope, so that the MCP endpoints can add the header that names
/// the missing scopes.
#[derive(Debug, Clone, Copy)]
pub(super) struct InsufficientScopeMarker;

impl ApiError {
    /// An error without a hint.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code: code.into(), message: message.into(), hint: None, retry_after: None }
    }

    /// A malformed request.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed_request", message)
    }

    /// A request for something that does not exist.
    pub fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// Adds the next step for the user.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the time after which the client may retry.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let is_scope_missing = self.code == "scope_missing";
        // A message may quote the request.
        let message = shorten(&self.message, MAX_MESSAGE);
        let hint = self.hint.map(|hint| shorten(&hint, MAX_MESSAGE));
        let words = ErrorDetail { code: self.code.into_owned(), message, hint };
        let mut response = (self.status, Json(ErrorResponse { error: words })).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if is_scope_missing {
            response.extensions_mut().insert(InsufficientScopeMarker);
        }
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait.as_secs().saturating_add(1)));
        }
        response
    }
}

impl From<AuthRejection> for ApiError {
    fn from(refusal: AuthRejection) -> Self {
        let status = match refusal {
            AuthRejection::Forbidden { .. } | AuthRejection::ScopeMissing { .. } => StatusCode::FORBIDDEN,
            AuthRejection::IssuerUnreachable | AuthRejection::NoConnectionLeft(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            AuthRejection::TooManyFailures { .. } | AuthRejection::TooManyConnections(_) => {
                StatusCode::TOO_MANY_REQUESTS
            }
            _ => StatusCode::UNAUTHORIZED,
        };
        let error = Self::new(status, refusal.code(), refusal.to_string()).with_hint(refusal.hint());
        match refusal {
            AuthRejection::TooManyFailures { wait } => error.retry_after(wait),
            _ => error,
        }
    }
}

impl From<PairRefusal> for ApiError {
    fn from(refusal: PairRefusal) -> Self {
        let status = match refusal {
            PairRefusal::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::UNAUTHORIZED,
        };
        Self::new(status, refusal.code(), refusal.to_string()).with_hint(refusal.hint())
    }
}

impl From<BadOrigin> for ApiError {
    fn from(bad: BadOrigin) -> Self {
        let status = match bad {
            BadOrigin::NoHost => StatusCode::BAD_REQUEST,
            _ => StatusCode::FORBIDDEN,
        };
        Self::new(status, bad.code(), bad.to_string()).with_hint(bad.hint())
    }
}

impl From<PairingCodeError> for ApiError {
    fn from(error: PairingCodeError) -> Self {
        match error {
            PairingCodeError::TooMany(_) => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_pairing_codes",
                error.to_string(),
            )
            .with_hint(
                "use one of them, or wait until they expire; the limit is the setting limits.pairing_codes",
            ),
            PairingCodeError::Agent(error) => error.into(),
            PairingCodeError::Random(_) => internal(&error),
        }
    }
}

impl From<TooManyEventStreams> for ApiError {
    fn from(full: TooManyEventStreams) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", full.to_string()).with_hint(match full {
            TooManyEventStreams::InTotal(_) => {
                "close one, or retry later; the limit is the setting limits.sse_streams"
            }
            TooManyEventStreams::OfPrincipal(_) => {
                "close one; the limit is the setting limits.sse_streams_per_principal"
            }
        })
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        unavailable(&error)
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        match &error {
            AccessError::NotFound(_) => Self::not_found("token_not_found", error.to_string())
                .with_hint("`toolway tokens list` shows the ids"),
            AccessError::Protected { instead, .. } => {
                Self::new(StatusCode::CONFLICT, "token_protected", error.to_string()).with_hint(*instead)
            }
            AccessError::Store(_) | AccessError::OwnerFile { .. } => unavailable(&error),
            AccessError::Agent(error) => (*error).into(),
            AccessError::Random(_) => internal(&error),
        }
    }
}

/// A failure of the database. The details are for the owner only, so they go to the log.
pub(crate) fn unavailable(error: &dyn std::error::Error) -> ApiError {
    tracing::error!(error = %chain(error), "the database failed during a request");
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "storage_failed",
        "the gateway could not read or write its data",
    )
    .with_hint("nothing was changed; see the gateway's log, and check the database with `toolway doctor`")
}

/// A fault of the gateway itself.
pub(crate) fn internal(error: &dyn std::error::Error) -> ApiError {
    tracing::error!(error = %chain(error), "a request failed");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the gateway failed to serve this request")
        .with_hint("see the gateway's log")
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.ends_with(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}

/// The response for a path without a resource.
pub(crate) async fn no_such_path(uri: Uri) -> ApiError {
    ApiError::not_found("path_not_found", format!("there is no resource at {}", uri.path()))
        .with_hint("/api/openapi.json lists the resources")
}

/// The response for a method that the resource does not have.
pub(crate) async fn no_such_method(method: Method, uri: Uri) -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        format!("{} does not support {method}", uri.path()),
    )
    .with_hint("the header Allow lists the supported methods; see /api/openapi.json")
}
