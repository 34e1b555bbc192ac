//! Who may come in: tokens and the roles they carry, pairing codes, and which hosts and web pages are
//! answered at all. The rest of the gateway asks here and decides nothing of this itself.

pub mod address;
pub mod authenticate;
pub mod forwarded;
pub mod interfaces;
pub mod issuer;
pub mod origin;
mod owner_file;
pub mod pairing;
pub mod refusal;
pub mod secret;
pub mod throttle;
pub mod token;
pub mod tokens;

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_store::Store;
use toolway_types::Clock;

pub use authenticate::{Authenticated, Caller, Owner};
pub use forwarded::{Client, ConnectionInfo};
pub use issuer::Issuer;
pub use owner_file::OWNER_TOKEN_FILE;
pub use pairing::{Grant, PairRefusal, Pairing};
pub use refusal::Refusal;
pub use token::{DeviceBinding, Ended, TokenState};
pub use tokens::{AccessError, LOCAL_DEVICE_ID, NewToken, OWNER_ID, Tokens};

use crate::settings::Settings;
use forwarded::TrustedProxies;
use interfaces::Interfaces;
use origin::OriginRules;
use owner_file::OwnerFile;
use throttle::Throttle;

/// All of access control.
#[derive(Debug)]
pub struct Access {
    /// The tokens.
    pub tokens: Tokens,
    /// The pairing codes that wait to be used.
    pub pairing: Pairing,
    /// Which hosts and pages are answered.
    pub origins: OriginRules,
    /// Which proxies are believed.
    pub proxies: TrustedProxies,
    /// Failed sign-ins, by address.
    pub failures: Throttle,
    /// Attempts to pair, by address.
    pub pair_tries: Throttle,
    /// Whose sign-ins count at `/mcp` besides.
    pub issuer: Option<Issuer>,
}

impl Access {
    /// Loads the tokens and makes sure that the owner has one, in the file `owner.token` of this folder.
    ///
    /// # Errors
    /// [`AccessError`] where the database or the file can't be read or written.
    pub async fn open(
        settings: &Settings,
        data_dir: &Path,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AccessError> {
        let tokens = Tokens::load(store, Arc::clone(&clock), OwnerFile::in_folder(data_dir)).await?;
        tokens.ensure_owner().await?;
        Ok(Self {
            tokens,
            pairing: Pairing::new(
                clock,
                settings.timeouts.pairing_code_s.duration(),
                settings.limits.pairing_codes,
            ),
            origins: OriginRules::new(settings, Interfaces::default()),
            proxies: TrustedProxies::new(&settings.trusted_proxies),
            failures: Throttle::new(settings.limits.failed_sign_ins_per_minute),
            pair_tries: Throttle::new(settings.limits.pair_tries_per_minute),
            issuer: None,
        })
    }

    /// Takes the word of this issuer for MCP clients.
    #[must_use]
    pub fn with_issuer(mut self, issuer: Option<Issuer>) -> Self {
        self.issuer = issuer;
        self
    }

    /// Who sent this request.
    ///
    /// # Errors
    /// [`Refusal`]: no token, or one that is unknown, revoked or expired; or too many of those from there.
    pub fn authenticate(&self, parts: &http::request::Parts) -> Result<Arc<TokenState>, Refusal> {
        let found = match authenticate::find_token(parts) {
            Some(token) => self.tokens.find(&token),
            None => Err(Refusal::Missing { in_query: authenticate::has_query_token(parts) }),
        };
        self.count(parts, found)
    }

    /// Who sent this request, which may carry a token of the issuer where it is for MCP.
    ///
    /// # Errors
    /// [`Refusal`], as [`Access::authenticate`] and for what is wrong with the issuer's token.
    pub async fn authenticate_any(&self, parts: &http::request::Parts) -> Result<Arc<TokenState>, Refusal> {
        let token = authenticate::find_token(parts).filter(|it| Issuer::looks_like_one(it));
        match (&self.issuer, token) {
            (Some(issuer), Some(token)) if authenticate::is_for_mcp(parts.uri.path()) => {
                let found = issuer.check(&token).await;
                self.count(parts, found)
            }
            _ => self.authenticate(parts),
        }
    }

    /// Counts requests without a good token against where they come from.
    fn count(
        &self,
        parts: &http::request::Parts,
        found: Result<Arc<TokenState>, Refusal>,
    ) -> Result<Arc<TokenState>, Refusal> {
        found.map_err(|refusal| {
            if matches!(refusal, Refusal::ScopeMissing { .. } | Refusal::IssuerUnreachable) {
                return refusal;
            }
            match parts.extensions.get::<Client>().map(|it| self.failures.attempt(it.ip)) {
                Some(Err(wait)) => Refusal::TooManyFailures { wait },
                _ => refusal,
            }
        })
    }

    /// A token for this computer's own device. Each call replaces the one before.
    ///
    /// # Errors
    /// [`AccessError`] where it can't be stored.
    pub async fn issue_local_device(&self) -> Result<SecretString, AccessError> {
        self.tokens.issue_local_device().await
    }
}
