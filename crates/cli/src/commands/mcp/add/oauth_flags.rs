//! Flags of `toolway mcp add` for OAuth. A secret is read from standard input or from a file, never from the command
//! line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use secrecy::SecretString;
use toolway_mcp::definition::import::secret_name;
use toolway_mcp::definition::{
    IdentityProviderDefinition, OauthDefinition, OauthGrantType, SECRET_PREFIX, SubjectTokenType,
};
use toolway_types::Slug;

use super::McpSecretValues;
use crate::error::{CliError, CliResult};

/// Field of the secret that is read from a file.
pub(super) const PRIVATE_KEY: &str = "private_key";

/// OAuth settings of a server with a URL.
#[derive(Debug, Args)]
pub(super) struct McpOauthFlags {
    /// OAuth grant: authorization-code needs a login, the others work without a person
    #[arg(long, value_enum, value_name = "GRANT", requires = "url")]
    grant: Option<McpGrantFlag>,
    /// OAuth client id, if the server does not support dynamic client registration
    #[arg(long, value_name = "ID", requires = "url")]
    client_id: Option<String>,
    /// OAuth client has a secret; without =secret:NAME, it is read from standard input
    #[arg(long, value_name = "secret:NAME", requires = "client_id", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    client_secret: Option<String>,
    /// PEM file with the private key with which the OAuth client authenticates; it is stored as a secret
    #[arg(long, value_name = "FILE", requires = "client_id")]
    private_key: Option<PathBuf>,
    /// Id of the private key (kid)
    #[arg(long, value_name = "ID", requires = "private_key")]
    private_key_id: Option<String>,
    /// Issuer of the OAuth authorization server that may receive the credentials
    #[arg(long, value_name = "URL", requires = "url")]
    issuer: Option<String>,
    /// OAuth scope to request instead of the server's default scopes; repeat the flag for more
    #[arg(long, value_name = "SCOPE", requires = "url")]
    scope: Vec<String>,
    /// Signed token for the grant jwt-bearer; without =secret:NAME, it is read from standard input
    #[arg(long, value_name = "secret:NAME", requires = "grant", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    assertion: Option<String>,
    /// Subject of the assertion that the client signs itself for the grant jwt-bearer (default: the client)
    #[arg(long, value_name = "SUBJECT", requires = "private_key")]
    subject: Option<String>,
    /// Require tokens that are bound to a key of the gateway (DPoP)
    #[arg(long, requires = "url")]
    dpop: bool,
    /// Issuer of the company's identity provider, for the grant enterprise-managed
    #[arg(long, value_name = "URL", requires_all = ["idp_client_id", "identity_token"])]
    idp_issuer: Option<String>,
    /// Client id at the identity provider
    #[arg(long, value_name = "ID", requires = "idp_issuer")]
    idp_client_id: Option<String>,
    /// The client at the identity provider has a secret; without =secret:NAME, it is read from standard input
    #[arg(long, value_name = "secret:NAME", requires = "idp_issuer", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    idp_client_secret: Option<String>,
    /// Token of the person at the identity provider; without =secret:NAME, it is read from standard input
    #[arg(long, value_name = "secret:NAME", requires = "idp_issuer", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    identity_token: Option<String>,
    /// Type of that token (default: id-token)
    #[arg(long, value_enum, value_name = "TYPE", requires = "identity_token")]
    identity_token_type: Option<McpIdentityTokenFlag>,
}

/// OAuth grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum McpGrantFlag {
    /// A person logs in with `toolway mcp login`
    AuthorizationCode,
    /// The client authenticates itself
    ClientCredentials,
    /// A signed token of another program, or of the client itself
    JwtBearer,
    /// The company's identity provider confirms a person
    EnterpriseManaged,
}

/// Type of a person's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum McpIdentityTokenFlag {
    /// OpenID Connect ID token
    IdToken,
    /// Refresh token
    RefreshToken,
    /// SAML 2.0 assertion
    Saml2,
}

impl McpOauthFlags {
    /// Builds the settings, with the values to store as secrets; `None` without flags.
    pub(super) fn definition(
        &self,
        slug: &Slug,
        kept: &mut McpSecretValues,
    ) -> CliResult<Option<OauthDefinition>> {
        let mut secret = |field: &str, value: &Option<String>| {
            value.as_ref().map(|value| secret_reference(slug, field, value, kept)).transpose()
        };
        let client_secret = secret("client_secret", &self.client_secret)?;
        let assertion = secret("assertion", &self.assertion)?;
        let idp_secret = secret("idp_client_secret", &self.idp_client_secret)?;
        let subject_token = secret("identity_token", &self.identity_token)?;
        let identity_provider = self.idp_issuer.as_ref().map(|issuer| IdentityProviderDefinition {
            issuer: issuer.clone(),
            client_id: self.idp_client_id.clone().unwrap_or_default(),
            client_secret: idp_secret,
            subject_token: subject_token.unwrap_or_default(),
            subject_token_type: self.identity_token_type.map_or_else(Default::default, subject_token_type),
            ..IdentityProviderDefinition::default()
        });
        let oauth = OauthDefinition {
            grant: self.grant.map_or_else(Default::default, grant_type),
            client_id: self.client_id.clone(),
            client_secret,
            private_key: self.private_key.as_ref().map(|file| stored_key(slug, file, kept)).transpose()?,
            private_key_id: self.private_key_id.clone(),
            issuer: self.issuer.clone(),
            scopes: self.scope.clone(),
            assertion,
            subject: self.subject.clone(),
            dpop: self.dpop,
            identity_provider,
            ..OauthDefinition::default()
        };
        Ok((oauth != OauthDefinition::default()).then_some(oauth))
    }
}

fn grant_type(flag: McpGrantFlag) -> OauthGrantType {
    match flag {
        McpGrantFlag::AuthorizationCode => OauthGrantType::AuthorizationCode,
        McpGrantFlag::ClientCredentials => OauthGrantType::ClientCredentials,
        McpGrantFlag::JwtBearer => OauthGrantType::JwtBearer,
        McpGrantFlag::EnterpriseManaged => OauthGrantType::EnterpriseManaged,
    }
}

fn subject_token_type(flag: McpIdentityTokenFlag) -> SubjectTokenType {
    match flag {
        McpIdentityTokenFlag::IdToken => SubjectTokenType::IdToken,
        McpIdentityTokenFlag::RefreshToken => SubjectTokenType::RefreshToken,
        McpIdentityTokenFlag::Saml2 => SubjectTokenType::Saml2,
    }
}

/// Returns a reference to a secret: the given one, or one to a value from standard input.
fn secret_reference(slug: &Slug, field: &str, value: &str, kept: &mut McpSecretValues) -> CliResult<String> {
    if value.starts_with(SECRET_PREFIX) {
        return Ok(value.to_owned());
    }
    if !value.is_empty() {
        let flag = field.replace('_', "-");
        return Err(CliError::usage(format!("--{flag} takes the name of a secret, not the secret itself"))
            .with_hint(format!(
                "use --{flag} and pass the secret on standard input, or --{flag}=secret:NAME"
            )));
    }
    let name = secret_name(slug, field);
    kept.push((name.clone(), None));
    Ok(format!("{SECRET_PREFIX}{name}"))
}

fn stored_key(slug: &Slug, file: &std::path::Path, kept: &mut McpSecretValues) -> CliResult<String> {
    let text = std::fs::read_to_string(file).map_err(|error| CliError::io("read", file, &error))?;
    let name = secret_name(slug, PRIVATE_KEY);
    kept.push((name.clone(), Some(SecretString::from(text))));
    Ok(format!("{SECRET_PREFIX}{name}"))
}
