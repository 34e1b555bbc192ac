//! A cache of the issuer's keys. It fetches them for the first token, when they are old, and when a token has
//! an unknown key id. Regardless of the tokens, it fetches at most every 30 seconds.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::Deserialize;
use tokio::time::Instant;
use toolway_mcp::oauth::OauthHttpClient;

use super::JwkSet;
use crate::access::rejection::AuthRejection;

/// Age at which the keys are fetched again.
const REFRESH_AFTER: Duration = Duration::from_secs(3600);
/// Maximum age of keys if they can't be fetched again. A withdrawn key is accepted no longer than this.
const MAX_AGE: Duration = Duration::from_secs(6 * 3600);
/// Minimum time between two fetches.
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
    /// Returns the keys if they are younger than `age`.
    fn set_younger_than(&self, age: Duration) -> Option<Arc<JwkSet>> {
        self.set.clone().filter(|_| self.fetched.is_some_and(|at| at.elapsed() < age))
    }
}

impl IssuerKeyCache {
    pub(super) fn new(http: OauthHttpClient, issuer: String, jwks_url: Option<String>) -> Self {
        Self { http, issuer, jwks_url, state: RwLock::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// Returns the number of changes of the key set so far.
    pub(super) fn edition(&self) -> u64 {
        self.state.read().set.as_ref().map_or(0, |set| set.edition)
    }

    /// Returns the keys, fetching them again if the issuer may have a new key with this id.
    ///
    /// # Errors
    /// [`AuthRejection::IssuerUnreachable`] if there are no keys.
    pub(super) async fn key_set_for(&self, id: Option<&str>) -> Result<Arc<JwkSet>, AuthRejection> {
        let fits = |set: &Arc<JwkSet>| id.is_none_or(|id| set.contains(id));
        let fresh = self.state.read().set_younger_than(REFRESH_AFTER);
        if let Some(set) = fresh.filter(fits) {
            return Ok(set);
        }
        let _fetching = self.fetching.lock().await;
        // Another task may have fetched them in the meantime.
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
                    tracing::warn!(issuer = self.issuer, problem, "cannot fetch the keys of the issuer");
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

    /// Finds the URL of the keys in the issuer's metadata (RFC 8414, OpenID Connect Discovery).
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
                    Err(_) => last = format!("{place} has no jwks_uri"),
                },
            }
        }
        Err(last)
    }
}
