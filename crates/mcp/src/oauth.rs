//! An OAuth 2.1 client for MCP servers: discovery of the authorization server, login with a person's browser, token
//! refresh, and grants without a person.
//!
//! It implements MCP's authorization chapters (2025-11-25 and 2026-07-28, and the differing parts of 2025-03-26) and
//! the RFCs that they name. We do not use the client of `rmcp`, because it does not store client secrets (so a
//! confidential client can't refresh after a restart), writes authorization codes to the log, accepts servers that do
//! not declare PKCE, and compares issuers loosely.
//!
//! Nothing here opens a browser, listens on a port or follows a redirect with a secret. An access token goes only to
//! the resource that it was issued for, a refresh token only to its issuer.

pub mod address;
mod address_guard;
mod authorizer;
pub mod challenge;
mod client;
mod client_assertion;
mod client_registration;
mod client_settings;
mod credentials;
mod discovery;
mod dpop;
mod error;
mod error_response;
mod grant;
mod identity_assertion;
mod login;
mod metadata;
mod pkce;
pub mod replay;
mod scopes;
mod serde_secret;
mod signing_key;
pub mod store;
mod stored_login;
mod token;
mod token_binding;
mod transport;
mod well_known;

pub use authorizer::{BrowserError, LoginBrowser, OauthAuthorizer, OauthDeps, OauthSettingsLookup};
pub use challenge::BearerChallenge;
pub use client_assertion::ClientKey;
pub use client_settings::OauthClientSettings;
pub use credentials::OauthCredentials;
pub use error::OauthError;
pub use grant::{AssertionSource, IdentityProviderSettings, OauthGrant};
pub use login::{OauthLoginRequest, PendingLogin};
pub use store::{TokenStore, TokenStoreError};
pub use transport::OauthHttpClient;

#[cfg(test)]
mod tests;
