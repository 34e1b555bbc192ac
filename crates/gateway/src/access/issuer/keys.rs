//! Has the issuer's keys at hand: fetched when the first token comes, again when they are old, and again when a token
//! names one that is not among them, but not more often than every half minute, whatever tokens come.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::Deserialize;
use tokio::time::Instant;
use toolway_mcp::oauth::OauthHttp;

use super::KeySet;
use crate::access::refusal::Refusal;

/// After so long the keys are fetched again.
const FRESH: Duration = Duration::from_secs(3600);
/// Keys that can't be fetched again are used for so long: a key that was taken back counts no longer than this.
const USABLE: Duration = Duration::from_secs(6 * 3600);
/// The least time between two fetches.
const BETWEEN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Keys {
    http: OauthHttp,
    issuer: String,
    jwks_url: Option<String>,
    held: RwLock<Held>,
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    set: Option<Arc<KeySet>>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

impl Held {
    /// The keys, where they are of an age.
    fn younger_than(&self, age: Duration) -> Option<Arc<KeySet>> {
        self.set.clone().filter(|_| self.fetched.is_some_and(|at| at.elapsed() < age))
    }
}

impl Keys {
    pub(super) fn new(http: OauthHttp, issuer: String, jwks_url: Option<String>) -> Self {
        Self { http, issuer, jwks_url, held: RwLock::default(), fetching: tokio::sync::Mutex::default() }
    }

    /// Counts the sets that were not as the one before.
    pub(super) fn edition(&self) -> u64 {
        self.held.read().set.as_ref().map_or(0, |set| set.edition)
    }

    /// The keys, among them the one with this id where the issuer has it.
    ///
    /// # Errors
    /// [`Refusal::IssuerUnreachable`] where there are none.
    pub(super) async fn for_id(&self, id: Option<&str>) -> Result<Arc<KeySet>, Refusal> {
        let fits = |set: &Arc<KeySet>| id.is_none_or(|id| set.has(id));
        let fresh = self.held.read().younger_than(FRESH);
        if let Some(set) = fresh.filter(fits) {
            return Ok(set);
        }
        let _fetching = self.fetching.lock().await;
        // Somebody else may have fetched them meanwhile.
        let (set, may_try) = {
            let held = self.held.read();
            (held.younger_than(USABLE), held.tried.is_none_or(|at| at.elapsed() >= BETWEEN))
        };
        if may_try {
            self.held.write().tried = Some(Instant::now());
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
        set.ok_or(Refusal::IssuerUnreachable)
    }

    async fn fetch(&self) -> Result<Arc<KeySet>, String> {
        let place = match &self.jwks_url {
            Some(place) => place.clone(),
            None => self.find().await?,
        };
        let document = self.http.document(&place).await.map_err(|error| error.to_string())?;
        let mut held = self.held.write();
        let set =
            KeySet::read(&document, held.set.as_ref()).map_err(|problem| format!("{place}: {problem}"))?;
        (held.set, held.fetched) = (Some(Arc::clone(&set)), Some(Instant::now()));
        Ok(set)
    }

    /// Where the issuer's metadata says that its keys are (RFC 8414, OpenID Connect Discovery).
    async fn find(&self) -> Result<String, String> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let mut last = String::new();
        for place in OauthHttp::issuer_places(&self.issuer) {
            match self.http.document(&place).await {
                Err(error) => last = error.to_string(),
                Ok(document) => match serde_json::from_slice::<Metadata>(&document) {
                    Ok(it) if it.issuer == self.issuer => return Ok(it.jwks_uri),
                    Ok(it) => return Err(format!("{place} is the metadata of {:?}", it.issuer)),
                    Err(_) => last = format!("{place} does not say where the keys are"),
                },
            }
        }
        Err(last)
    }
}
