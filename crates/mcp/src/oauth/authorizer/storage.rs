//! Loading and storing of credentials and of challenges that a login has to meet.

use std::sync::Arc;

use reqwest::Url;
use secrecy::ExposeSecret as _;
use tokio::time::Instant;
use toolway_types::Slug;

use super::OauthAuthorizer;
use super::server_tokens::ServerTokens;
use crate::oauth::challenge::BearerChallenge;
use crate::oauth::credentials::OauthCredentials;
use crate::oauth::error::OauthError;
use crate::oauth::store::TokenStoreError;
use crate::oauth::stored_login::{RecordedChallenge, StoredLogin};

impl OauthAuthorizer {
    /// Loads the stored data of a server.
    pub(super) async fn load(&self, server: &Slug) -> Result<StoredLogin, OauthError> {
        let (store, server) = (Arc::clone(&self.parts.store), server.clone());
        let loaded = blocking(move || store.load(&server)).await?;
        Ok(loaded.as_ref().map(StoredLogin::parse).unwrap_or_default())
    }

    /// Stores new credentials.
    pub(super) async fn save(
        &self,
        server: &Slug,
        entry: &ServerTokens,
        new: OauthCredentials,
    ) -> Result<(), OauthError> {
        // A new token answers the recorded challenge.
        let stored = StoredLogin { credentials: Some(new.clone()), challenge: None };
        // The new token counts even if it can't be stored: a rotated refresh token is worthless by now.
        entry.set(Some(new));
        self.store(server, &stored).await
    }

    pub(super) async fn remove_cached(
        &self,
        server: &Slug,
        entry: &ServerTokens,
    ) -> Result<bool, OauthError> {
        entry.set(None);
        let (store, server) = (Arc::clone(&self.parts.store), server.clone());
        blocking(move || store.remove(&server)).await
    }

    /// Loads credentials that another program has stored, for example by a login in a terminal. Returns true if they
    /// differ.
    pub(super) async fn reload(&self, server: &Slug, entry: &ServerTokens) -> Result<bool, OauthError> {
        let mut stored = self.load(server).await?.credentials;
        if let Some(unattended) = stored.as_ref().filter(|it| it.is_unattended()) {
            // A token that was issued for other settings is not used.
            let now = self.settings(server).await?.fingerprint(false);
            if unattended.settings.as_ref() != Some(&now) {
                stored = None;
            }
        }
        let (held, _) = entry.current();
        let token = |it: &OauthCredentials| it.access_token.expose_secret().to_owned();
        if stored.as_ref().map(token) == held.as_deref().map(token) {
            entry.cached.write().loaded_at = Some(Instant::now());
            return Ok(false);
        }
        // If saving failed, the credentials in memory are newer than the stored ones.
        let older = stored.as_ref().zip(held.as_deref()).is_some_and(|(s, h)| s.received_ms < h.received_ms);
        if older {
            return Ok(false);
        }
        let anything = stored.is_some();
        // Another program got a token, so the problem of earlier attempts is solved.
        entry.failed.lock().clear();
        entry.set(stored);
        Ok(anything)
    }

    async fn store(&self, server: &Slug, stored: &StoredLogin) -> Result<(), OauthError> {
        let (store, slug, text) = (Arc::clone(&self.parts.store), server.clone(), stored.to_secret_text());
        blocking(move || store.save(&slug, &text)).await
    }

    /// Stores a challenge for the next login, which may run in another program. The caller holds `renewal_lock`.
    pub(super) async fn record_challenge(
        &self,
        server: &Slug,
        url: &Url,
        challenge: &BearerChallenge,
    ) -> Result<(), OauthError> {
        let Some(recorded) = RecordedChallenge::new(url, challenge) else { return Ok(()) };
        let mut stored = self.load(server).await?;
        if stored.challenge.as_ref() == Some(&recorded) {
            return Ok(());
        }
        stored.challenge = Some(recorded);
        self.store(server, &stored).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TokenStoreError> + Send + 'static,
) -> Result<T, OauthError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(OauthError::Store(TokenStoreError::Key(error.to_string()))),
    }
}
