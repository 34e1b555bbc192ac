//! OAuth 2.1 toward MCP servers that want it: finding out where to sign in, signing in with a person's browser, and
//! keeping what came of it fresh without anybody.
//!
//! This follows MCP's authorization chapters (2025-11-25 and 2026-07-28, and what 2025-03-26 had in their place) and
//! the RFCs that they name. `rmcp` has a client of its own; it is not used because it keeps no client secret (so a
//! confidential client can't refresh after a restart), writes authorisation codes to the log, takes servers that don't
//! say that they check PKCE, and compares issuers loosely.
//!
//! Nothing here opens a browser, listens on a port or follows a redirect with a secret. A token goes to the resource that it was
//! issued for and nowhere else; a refresh token goes to the issuer that gave it.

pub mod address;
mod authorizer;
pub mod challenge;
mod client;
mod client_registration;
mod client_settings;
mod credentials;
mod discovery;
mod error;
mod error_response;
mod login;
mod metadata;
mod pkce;
mod scopes;
mod serde_secret;
pub mod store;
mod token;
mod transport;
mod well_known;

pub use authorizer::{BrowserError, LoginBrowser, OauthAuthorizer, OauthDeps, OauthSettingsLookup};
pub use challenge::BearerChallenge;
pub use client_settings::OauthClientSettings;
pub use credentials::OauthCredentials;
pub use error::OauthError;
pub use login::{OauthLoginRequest, PendingLogin};
pub use store::{TokenStore, TokenStoreError};
pub use transport::OauthHttpClient;

#[cfg(test)]
mod tests;
