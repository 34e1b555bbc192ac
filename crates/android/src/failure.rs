//! Failures in a provider's answer: errors that it reports, and malformed answers.

use crate::bounds::{self, cut};
use crate::bundle::{Bundle, BundleValue};

/// Reason why an answer has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// The user must authorize access in the app first.
    #[error("{}", .0.message)]
    AuthorizationRequired(AuthorizationRequired),
    /// The app refuses this caller.
    #[error("{0}")]
    Denied(String),
    /// The app does not have this tool or method.
    #[error("{0}")]
    NotFound(String),
    /// The app rejects the arguments.
    #[error("{0}")]
    InvalidArguments(String),
    /// The app is called too often.
    #[error("{0}")]
    RateLimited(String),
    /// Any other error of the app.
    #[error("{0}")]
    Failed(String),
    /// The answer does not have the form of the dialect.
    #[error("{0}")]
    Malformed(String),
}

/// `AUTH_REQUIRED` with the app's details (CETP, section 2.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationRequired {
    /// Description of the missing authorization.
    pub message: String,
    /// Hint for the user.
    pub hint: Option<String>,
    /// Action of the authorization screen. The provider chooses this text, and it may name any screen of any
    /// app; it is opened only within the provider's package.
    pub intent: Option<String>,
}

/// Returns a required text.
pub(crate) fn text<'a>(bundle: &'a Bundle, key: &str) -> Result<&'a str, ProviderFailure> {
    match bundle.get(key) {
        Some(BundleValue::Text(text)) => Ok(text),
        Some(other) => Err(malformed(format!("{key:?} is {} and not a string", other.type_name()))),
        None => Err(malformed(format!("{key:?} is missing"))),
    }
}

/// Returns an optional text, truncated if it is long. A value of another type counts as absent.
pub(crate) fn short_text(bundle: &Bundle, key: &str) -> Option<String> {
    match bundle.get(key) {
        Some(BundleValue::Text(text)) => Some(cut(text, bounds::TEXT)),
        _ => None,
    }
}

pub(crate) fn malformed(what: impl AsRef<str>) -> ProviderFailure {
    ProviderFailure::Malformed(cut(&format!("the app's answer is invalid: {}", what.as_ref()), bounds::TEXT))
}

/// Returns the bundle of an answer, or an error if there is none.
pub(crate) fn require_bundle(bundle: Option<&Bundle>) -> Result<&Bundle, ProviderFailure> {
    bundle.ok_or_else(|| malformed("it is null"))
}
