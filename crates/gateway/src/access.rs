//! Access control: tokens and their roles, pairing codes, and the hosts and web pages that may use the gateway. Other
//! modules ask this one and make none of these decisions themselves.

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
mod request_principal;
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
pub(crate) use request_principal::RequestPrincipal;
pub use token::{DeviceBinding, TokenEndReason, TokenState};
pub use tokens::{AccessTokens, LOCAL_DEVICE_ID, NewToken, OWNER_ID};

use crate::peer_connection::PeerConnection;
use crate::principal_shares::NoPlace;
use crate::settings::Settings;
use forwarded::TrustedProxies;
use interfaces::InterfaceAddresses;
use origin::OriginRules;
use owner_file::OwnerTokenFile;
use rate_limiter::AddressRateLimiter;

/// Access control of one gateway.
#[derive(Debug)]
pub struct AccessControl {
    /// The tokens.
    pub tokens: AccessTokens,
    /// The unused pairing codes.
    pub pairing: PairingCodes,
    /// The hosts and web pages that may use the gateway.
    pub origins: OriginRules,
    /// The proxies whose headers count.
    pub proxies: TrustedProxies,
    /// Requests without a valid token, by address.
    pub failed_sign_ins: AddressRateLimiter,
    /// Attempts to pair, by address.
    pub pair_attempts: AddressRateLimiter,
    /// The authorization server whose tokens also count at `/mcp`, if one is set.
    pub issuer: Option<TokenIssuer>,
}

impl AccessControl {
    /// Loads the tokens. If the owner has none, creates one in the file `owner.token` of this folder.
    ///
    /// # Errors
    /// [`AccessError`] if the database or the file can't be read or written.
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

    /// Accepts the tokens of this issuer for MCP clients.
    #[must_use]
    pub fn with_issuer(mut self, issuer: Option<TokenIssuer>) -> Self {
        self.issuer = issuer;
        self
    }

    /// Finds the token of a request.
    ///
    /// # Errors
    /// [`AuthRejection`]: no token; an unknown, revoked or expired token; or too many of those from this address.
    pub fn authenticate(&self, parts: &http::request::Parts) -> Result<Arc<TokenState>, AuthRejection> {
        let found = match authentication::find_token(parts) {
            Some(token) => self.tokens.find(&token),
            None => Err(AuthRejection::Missing { in_query: authentication::has_query_token(parts) }),
        };
        self.count_connection(parts, found)
    }

    /// Finds the token of a request, which may be one of the issuer if the request is for MCP.
    ///
    /// # Errors
    /// [`AuthRejection`], as for [`AccessControl::authenticate`], and for an invalid token of the issuer.
    pub async fn authenticate_any(
        &self,
        parts: &http::request::Parts,
    ) -> Result<Arc<TokenState>, AuthRejection> {
        let token = authentication::find_token(parts).filter(|it| TokenIssuer::looks_like_jwt(it));
        match (&self.issuer, token) {
            (Some(issuer), Some(token)) if authentication::is_for_mcp(parts.uri.path()) => {
                let found = issuer.check(&token).await;
                self.count_connection(parts, found)
            }
            _ => self.authenticate(parts),
        }
    }

    /// Counts the connection of a request with a valid token, and requests without one against their address.
    fn count_connection(
        &self,
        parts: &http::request::Parts,
        found: Result<Arc<TokenState>, AuthRejection>,
    ) -> Result<Arc<TokenState>, AuthRejection> {
        let found = found.and_then(|token| {
            take_connection(parts, &token)?;
            Ok(token)
        });
        found.map_err(|refusal| {
            if matches!(
                refusal,
                AuthRejection::ScopeMissing { .. }
                    | AuthRejection::IssuerUnreachable
                    | AuthRejection::TooManyConnections(_)
                    | AuthRejection::NoConnectionLeft(_)
            ) {
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

    /// Creates the token of this computer's own device, and replaces the previous one.
    ///
    /// # Errors
    /// [`AccessError`] if it can't be stored.
    pub async fn issue_local_device(&self) -> Result<SecretString, AccessError> {
        self.tokens.issue_local_device().await
    }
}

/// Takes a place for the request's connection among those of the token.
fn take_connection(parts: &http::request::Parts, token: &TokenState) -> Result<(), AuthRejection> {
    if let Some(principal) = parts.extensions.get::<RequestPrincipal>() {
        principal.set(&token.principal);
    }
    let Some(connection) = parts.extensions.get::<PeerConnection>() else { return Ok(()) };
    let peer = parts.extensions.get::<ConnectionInfo>().map(|info| info.peer.ip().to_canonical());
    let client = parts.extensions.get::<EffectiveClient>().map(|client| client.ip);
    let is_proxied = peer != client;
    connection.identify(&token.principal, is_proxied).map_err(|refusal| match refusal {
        NoPlace::ShareUsed(limit) => AuthRejection::TooManyConnections(limit),
        NoPlace::Full(limit) => AuthRejection::NoConnectionLeft(limit),
    })
}
