//! Has the issuer's keys at hand: fetched when the first token comes, again when they are old, and again when a token
//! names one that is not among them, but not more often than every half minute, whatever tokens come.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::Deserialize;
use tokio::time::Instant;
use toolway_mcp::oauth::OauthHttpClient;

use super::JwkSet;
use crate::access::rejection::AuthRejection;

/// After so long the keys are fetched again.
const REFRESH_AFTER: Duration = Duration::from_secs(3600);
/// Keys that can't be fetched again are used for so long: a key that was taken back counts no longer than this.
const MAX_AGE: Duration = Duration::from_secs(6 * 3600);
/// The least time between two fetches.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct IssuerKeyCache {
    http: OauthHttpClient,
    issuer: String,
    jwks_url: Option<String>,
    state: RwLock<KeyFetchState>,
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct KeyFetchState {
    set: Option<Arc<JwkSet>>,
    fetched: Option<Instant>,
    attempted: Option<Instant>,
}

impl KeyFetchState {
    /// The keys, where they are of an age.
    fn set_younger_than(&self, age: Duration) -> Option<Arc<JwkSet>> {
        self.set.clone().filter(|_| self.fetched.is_some_and(|at| at.elapsed() < age))
    }
}

impl IssuerKeyCache {
    pub(super) fn new(http: OauthHttpClient, issuer: String, jwks_url: Option<String>) -> Self {
        Self { http, issuer, jwks_url, state: RwLock::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// Counts the sets that were not as the one before.
    pub(super) fn edition(&self) -> u64 {
        self.state.read().set.as_ref().map_or(0, |set| set.edition)
    }

    /// The keys, among them the one with this id where the issuer has it.
    ///
    /// # Errors
    /// [`Refusal::IssuerUnreachable`] where there are none.
    pub(super) async fn key_set_for(&self, id: Option<&str>) -> Result<Arc<JwkSet>, AuthRejection> {
        let fits = |set: &Arc<JwkSet>| id.is_none_or(|id| set.contains(id));
        let fresh = self.state.read().set_younger_than(REFRESH_AFTER);
        if let Some(set) = fresh.filter(fits) {
            return Ok(set);
        }
        let _fetching = self.fetching.lock().await;
        // Somebody else may have fetched them meanwhile.
        let (set, may_try) = {
            let held = self.state.read();
            (
                held.set_younger_than(MAX_AGE),
                held.attempted.is_none_or(|at| at.elapsed() >= MIN_FETCH_INTERVAL),
            )
        };
        if may_try {
            self.state.write().attempted = Some(Instant::now());
            match self.fetch().await {
                Ok(set) => return Ok(set),
                Err(problem) => {
                    tracing::warn!(
                        issuer = self.issuer,
                        problem,
                        "the keys of the issuer could not be fetched"
                    );
                }
            }
        }
        set.ok_or(AuthRejection::IssuerUnreachable)
    }

    async fn fetch(&self) -> Result<Arc<JwkSet>, String> {
        let place = match &self.jwks_url {
            Some(place) => place.clone(),
            None => self.discover_jwks_url().await?,
        };
        let document = self.http.document(&place).await.map_err(|error| error.to_string())?;
        let mut held = self.state.write();
        let set =
            JwkSet::read(&document, held.set.as_ref()).map_err(|problem| format!("{place}: {problem}"))?;
        (held.set, held.fetched) = (Some(Arc::clone(&set)), Some(Instant::now()));
        Ok(set)
    }

    /// Where the issuer's metadata says that its keys are (RFC 8414, OpenID Connect Discovery).
    async fn discover_jwks_url(&self) -> Result<String, String> {
        #[derive(Deserialize)]
        struct IssuerMetadata {
            issuer: String,
            jwks_uri: String,
        }
        let mut last = String::new();
        for place in OauthHttpClient::issuer_metadata_urls(&self.issuer) {
            match self.http.document(&place).await {
                Err(error) => last = error.to_string(),
                Ok(document) => match serde_json::from_slice::<IssuerMetadata>(&document) {
                    Ok(it) if it.issuer == self.issuer => return Ok(it.jwks_uri),
                    Ok(it) => return Err(format!("{place} is the metadata of {:?}", it.issuer)),
                    Err(_) => last = format!("{place} does not say where the keys are"),
                },
            }
        }
        Err(last)
    }
}
