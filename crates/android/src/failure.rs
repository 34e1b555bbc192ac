//! What a provider's answer says went wrong, or what is wrong with the answer.

use crate::bounds::{self, cut};
use crate::bundle::{Bundle, BundleValue};

/// Why an answer brought nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// The user must allow it in the app first.
    #[error("{}", .0.message)]
    AuthorizationRequired(AuthorizationRequired),
    /// The app refuses this caller.
    #[error("{0}")]
    Denied(String),
    /// The app knows no such tool or method.
    #[error("{0}")]
    NotFound(String),
    /// The app takes no such arguments.
    #[error("{0}")]
    InvalidArguments(String),
    /// Asked too often.
    #[error("{0}")]
    RateLimited(String),
    /// Anything else that the app says.
    #[error("{0}")]
    Failed(String),
    /// The answer has not the form that the dialect gives it.
    #[error("{0}")]
    Malformed(String),
}

/// `AUTH_REQUIRED`, with what the app says about it (CETP, section 2.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationRequired {
    /// What is missing.
    pub message: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// The action of the screen where the user can allow it. It is the provider's own text and may name any
    /// screen of any app; it is opened within the provider's package only.
    pub intent: Option<String>,
}

/// A text that must be there.
pub(crate) fn text<'a>(bundle: &'a Bundle, key: &str) -> Result<&'a str, ProviderFailure> {
    match bundle.get(key) {
        Some(BundleValue::Text(text)) => Ok(text),
        Some(other) => Err(malformed(format!("{key:?} is {} and not a string", other.type_name()))),
        None => Err(malformed(format!("there is no {key:?} in it"))),
    }
}

/// A text that may be there, cut where it is long. One of another type counts as absent.
pub(crate) fn short_text(bundle: &Bundle, key: &str) -> Option<String> {
    match bundle.get(key) {
        Some(BundleValue::Text(text)) => Some(cut(text, bounds::TEXT)),
        _ => None,
    }
}

pub(crate) fn malformed(what: impl AsRef<str>) -> ProviderFailure {
    ProviderFailure::Malformed(cut(
        &format!("the app's answer is not usable: {}", what.as_ref()),
        bounds::TEXT,
    ))
}

/// The answer, where there is one.
pub(crate) fn require_bundle(bundle: Option<&Bundle>) -> Result<&Bundle, ProviderFailure> {
    bundle.ok_or_else(|| malformed("it is null"))
}
