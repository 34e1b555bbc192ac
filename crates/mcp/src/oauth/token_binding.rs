//! The choice whether tokens are bound to a key (DPoP, RFC 9449).

use secrecy::SecretString;

use super::challenge::BearerChallenge;
use super::discovery::DiscoveredMetadata;
use super::dpop::{ALGORITHM, DpopBinding};
use super::error::{OauthError, sanitize};
use super::token::IssuedToken;

/// Generates a key for the next token, if the owner requires it, or the server asks for it and the authorization server
/// supports it.
///
/// # Errors
/// [`OauthError::NoRandomness`].
pub(super) fn bind_token(
    discovered: &DiscoveredMetadata,
    challenge: &BearerChallenge,
    is_required: bool,
) -> Result<Option<DpopBinding>, OauthError> {
    let is_asked = challenge.accepts_dpop || discovered.requires_dpop;
    let algorithms = discovered.server.dpop_algorithms.as_ref();
    let is_supported = algorithms.is_some_and(|all| all.iter().any(|it| it == ALGORITHM));
    (is_required || (is_asked && is_supported)).then(DpopBinding::generate).transpose()
}

impl IssuedToken {
    /// The stored form of the key that the token is bound to; `None` for a token without a key.
    ///
    /// # Errors
    /// [`OauthError::Unsuitable`] if the token must be bound, but is not.
    pub(super) fn key_of(
        &self,
        dpop: Option<&DpopBinding>,
        is_required: bool,
        issuer: &str,
    ) -> Result<Option<SecretString>, OauthError> {
        let key = dpop.filter(|_| self.is_bound).map(|dpop| dpop.text().clone());
        if key.is_none() && is_required {
            return Err(OauthError::Unsuitable {
                issuer: sanitize(issuer),
                lacks: "issues tokens that are not bound to a key (DPoP)",
            });
        }
        Ok(key)
    }
}
