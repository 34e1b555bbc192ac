//! Who may come in: tokens and the roles they carry, pairing codes, and which hosts and web pages are
//! answered at all. The rest of the gateway asks here and decides nothing of this itself.

pub mod agent_binding;
pub mod authentication;
pub mod error;
pub mod forwarded;
pub mod interfaces;
pub mod issuer;
pub mod origin;
mod owner_file;
pub mod pairing;
pub mod rate_limiter;
pub mod record_access;
pub mod rejection;
pub mod secret;
pub mod token;
pub mod tokens;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_store::Store;
use toolway_types::Clock;
use toolway_wire::pairing::PairingCode;

pub use agent_binding::{AgentForbidden, AgentWithoutCalls, check_agent};
pub use error::AccessError;
pub use forwarded::{ConnectionInfo, EffectiveClient};
pub use issuer::TokenIssuer;
pub use owner_file::OWNER_TOKEN_FILE;
pub use pairing::{PairError, PairRefusal, PairingCodes, PairingGrant};
pub use record_access::{RecordAccess, RecordAccessDenied};
pub use rejection::AuthRejection;
pub use token::{DeviceBinding, TokenEndReason, TokenState};
pub use tokens::{AccessTokens, LOCAL_DEVICE_ID, NewToken, OWNER_ID};

use crate::settings::Settings;
use forwarded::TrustedProxies;
use interfaces::InterfaceAddresses;
use origin::OriginRules;
use owner_file::OwnerTokenFile;
use rate_limiter::AddressRateLimiter;

/// All of access control.
#[derive(Debug)]
pub struct AccessControl {
    /// The tokens.
    pub tokens: AccessTokens,
    /// The pairing codes that wait to be used.
    pub pairing: PairingCodes,
    /// Which hosts and pages are answered.
    pub origins: OriginRules,
    /// Which proxies are believed.
    pub proxies: TrustedProxies,
    /// Failed sign-ins, by address.
    pub failed_sign_ins: AddressRateLimiter,
    /// Attempts to pair, by address.
    pub pair_attempts: AddressRateLimiter,
    /// Whose sign-ins count at `/mcp` besides.
    pub issuer: Option<TokenIssuer>,
}

impl AccessControl {
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
        let tokens =
            AccessTokens::load(store, Arc::clone(&clock), OwnerTokenFile::in_folder(data_dir)).await?;
        tokens.ensure_owner().await?;
        Ok(Self {
            tokens,
            pairing: PairingCodes::new(
                clock,
                settings.timeouts.pairing_code_s.duration(),
                settings.limits.pairing_codes,
            ),
            origins: OriginRules::new(settings, InterfaceAddresses::default()),
            proxies: TrustedProxies::new(&settings.trusted_proxies),
            failed_sign_ins: AddressRateLimiter::new(settings.limits.failed_sign_ins_per_minute),
            pair_attempts: AddressRateLimiter::new(settings.limits.pairing_attempts_per_minute),
            issuer: None,
        })
    }

    /// Takes the word of this issuer for MCP clients.
    #[must_use]
    pub fn with_issuer(mut self, issuer: Option<TokenIssuer>) -> Self {
        self.issuer = issuer;
        self
    }

    /// Who sent this request.
    ///
    /// # Errors
    /// [`Refusal`]: no token, or one that is unknown, revoked or expired; or too many of those from there.
    pub fn authenticate(&self, parts: &http::request::Parts) -> Result<Arc<TokenState>, AuthRejection> {
        let found = match authentication::find_token(parts) {
            Some(token) => self.tokens.find(&token),
            None => Err(AuthRejection::Missing { in_query: authentication::has_query_token(parts) }),
        };
        self.count_failure(parts, found)
    }

    /// Who sent this request, which may carry a token of the issuer where it is for MCP.
    ///
    /// # Errors
    /// [`Refusal`], as [`Access::authenticate`] and for what is wrong with the issuer's token.
    pub async fn authenticate_any(
        &self,
        parts: &http::request::Parts,
    ) -> Result<Arc<TokenState>, AuthRejection> {
        let token = authentication::find_token(parts).filter(|it| TokenIssuer::looks_like_jwt(it));
        match (&self.issuer, token) {
            (Some(issuer), Some(token)) if authentication::is_for_mcp(parts.uri.path()) => {
                let found = issuer.check(&token).await;
                self.count_failure(parts, found)
            }
            _ => self.authenticate(parts),
        }
    }

    /// Counts requests without a good token against where they come from.
    fn count_failure(
        &self,
        parts: &http::request::Parts,
        found: Result<Arc<TokenState>, AuthRejection>,
    ) -> Result<Arc<TokenState>, AuthRejection> {
        found.map_err(|refusal| {
            if matches!(refusal, AuthRejection::ScopeMissing { .. } | AuthRejection::IssuerUnreachable) {
                return refusal;
            }
            match parts.extensions.get::<EffectiveClient>().map(|it| self.failed_sign_ins.attempt(it.ip)) {
                Some(Err(wait)) => AuthRejection::TooManyFailures { wait },
                _ => refusal,
            }
        })
    }

    /// Exchanges a pairing code for a token, which it returns with its text.
    ///
    /// # Errors
    /// [`PairError`]; after [`PairError::Token`], the code is still valid.
    pub async fn pair(
        &self,
        code: &PairingCode,
        device: DeviceBinding,
        from: IpAddr,
    ) -> Result<(SecretString, Arc<TokenState>), PairError> {
        // Reserved, so that two devices can't use it at the same time. Dropping the reservation frees it again.
        let reserved = self.pairing.reserve(code)?;
        let PairingGrant { role, label, agent } = reserved.grant.clone();
        let created = self.tokens.create(NewToken { role, label, agent, device, lifetime: None }).await?;
        reserved.redeem();
        self.pair_attempts.refund(from);
        Ok(created)
    }

    /// A token for this computer's own device. Each call replaces the one before.
    ///
    /// # Errors
    /// [`AccessError`] where it can't be stored.
    pub async fn issue_local_device(&self) -> Result<SecretString, AccessError> {
        self.tokens.issue_local_device().await
    }
}
