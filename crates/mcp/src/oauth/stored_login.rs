//! The stored data of one server: its credentials, and the last challenge that only a login can meet.

use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::address::canonical_resource_uri;
use super::challenge::BearerChallenge;
use super::credentials::OauthCredentials;
use super::scopes;

/// Maximum length of a stored address, in bytes.
const MAX_ADDRESS: usize = 2 << 10;

/// The stored data of one server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    #[serde(flatten)]
    pub(super) credentials: Option<OauthCredentials>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<RecordedChallenge>,
}

/// A challenge that a login has to meet. Any request may bring it: a server may accept `initialize` without a token
/// and name its scopes when the tools are listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedChallenge {
    /// The canonical address of the server.
    server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource_metadata: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    accepts_dpop: bool,
}

impl StoredLogin {
    /// Parses the stored text. Unreadable parts are missing; a new login replaces them.
    pub(super) fn parse(text: &SecretString) -> Self {
        serde_json::from_str(text.expose_secret()).unwrap_or_default()
    }

    /// Serializes the data for the store.
    pub(super) fn to_secret_text(&self) -> SecretString {
        serde_json::to_string(self).unwrap_or_default().into()
    }

    /// The challenge of the server at this address, with the address of the metadata from the last login if the
    /// challenge has none.
    pub(super) fn challenge_of(&self, server: &Url) -> BearerChallenge {
        let recorded = self.challenge.clone().filter(|it| it.is_of(server));
        let accepts_dpop = recorded.as_ref().is_some_and(|it| it.accepts_dpop);
        let (metadata, scopes) = recorded.map_or((None, Vec::new()), |it| (it.resource_metadata, it.scopes));
        let of_login = self.credentials.as_ref().filter(|it| it.is_for(server));
        BearerChallenge {
            resource_metadata: metadata.or_else(|| of_login.and_then(|it| it.metadata.clone())),
            scope: (!scopes.is_empty()).then(|| scopes.join(" ")),
            accepts_dpop,
            ..BearerChallenge::default()
        }
    }
}

impl RecordedChallenge {
    /// Creates the record; `None` if the challenge names nothing that a login can use.
    pub(super) fn new(server: &Url, challenge: &BearerChallenge) -> Option<Self> {
        let recorded = Self {
            server: canonical_resource_uri(server),
            resource_metadata: challenge.resource_metadata.clone().filter(|it| it.len() <= MAX_ADDRESS),
            scopes: scopes::union(&challenge.scopes(), &[]),
            accepts_dpop: challenge.accepts_dpop,
        };
        (recorded.accepts_dpop || recorded.resource_metadata.is_some() || !recorded.scopes.is_empty())
            .then_some(recorded)
    }

    /// Returns true if the challenge is one of the server at this address.
    pub(super) fn is_of(&self, server: &Url) -> bool {
        self.server == canonical_resource_uri(server)
    }
}

#[cfg(test)]
mod tests;
