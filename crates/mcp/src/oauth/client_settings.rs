//! The owner's OAuth settings of one server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::client_assertion::ClientKey;
use super::grant::{AssertionSource, IdentityProviderSettings, OauthGrant};
use crate::definition::{IdentityProviderDefinition, OauthDefinition, OauthGrantType, SECRET_PREFIX};
use toolway_secrets::SecretReader;

/// The owner's OAuth settings of one server, with secrets resolved.
#[derive(Debug, Clone, Default)]
pub struct OauthClientSettings {
    /// The way to a token.
    pub grant: OauthGrant,
    /// The id of a client that the owner registered.
    pub client_id: Option<String>,
    /// The secret of that client.
    pub client_secret: Option<SecretString>,
    /// The private key of that client.
    pub private_key: Option<ClientKey>,
    /// The only authorization server that may receive the client's secret.
    pub issuer: Option<String>,
    /// The https address of the owner's client id metadata document.
    pub client_metadata_url: Option<String>,
    /// The scopes to request instead of those that the server names.
    pub scopes: Vec<String>,
    /// True if tokens must be bound to a key (DPoP).
    pub requires_dpop: bool,
}

impl OauthClientSettings {
    /// Reads the settings from a definition and resolves `secret:NAME`. May block.
    ///
    /// # Errors
    /// A message about the secret that can't be resolved.
    pub fn from_definition(
        definition: Option<&OauthDefinition>,
        secrets: &dyn SecretReader,
    ) -> Result<Self, String> {
        let Some(definition) = definition else { return Ok(Self::default()) };
        let secrets = SecretResolver(secrets);
        Ok(Self {
            grant: grant(definition, &secrets)?,
            client_id: definition.client_id.clone(),
            client_secret: secrets.optional(definition.client_secret.as_ref())?,
            private_key: secrets.key(definition.private_key.as_ref(), definition.private_key_id.as_ref())?,
            issuer: definition.issuer.clone(),
            client_metadata_url: definition.client_metadata_url.clone(),
            scopes: definition.scopes.clone(),
            requires_dpop: definition.dpop,
        })
    }
}

impl OauthClientSettings {
    /// A hash over the settings and their secrets, to notice a change. Tokens of others, which change often, count only
    /// if wanted.
    pub(super) fn fingerprint(&self, with_tokens: bool) -> String {
        let key = |key: &Option<ClientKey>| key.as_ref().map(|it| (exposed(&it.pem), it.id.clone()));
        let secret = |secret: &Option<SecretString>| secret.as_ref().map(exposed);
        let grant = match &self.grant {
            OauthGrant::AuthorizationCode | OauthGrant::ClientCredentials => serde_json::Value::Null,
            OauthGrant::JwtBearer(AssertionSource::Issued(token)) => {
                json!([with_tokens.then(|| exposed(token))])
            }
            OauthGrant::JwtBearer(AssertionSource::SignedFor(subject)) => json!({ "subject": subject }),
            OauthGrant::EnterpriseManaged(it) => json!([
                it.issuer,
                it.token_endpoint,
                it.client_id,
                secret(&it.client_secret),
                key(&it.private_key),
                it.subject_token_type,
                with_tokens.then(|| exposed(&it.subject_token)),
            ]),
        };
        let all = json!([
            self.grant.kind(),
            grant,
            self.client_id,
            secret(&self.client_secret),
            key(&self.private_key),
            self.issuer,
            self.scopes,
            self.requires_dpop,
        ]);
        URL_SAFE_NO_PAD.encode(digest(&SHA256, all.to_string().as_bytes()))
    }
}

fn exposed(secret: &SecretString) -> String {
    secret.expose_secret().to_owned()
}

struct SecretResolver<'a>(&'a dyn SecretReader);

impl SecretResolver<'_> {
    fn resolve(&self, value: &str) -> Result<SecretString, String> {
        let Some(name) = value.strip_prefix(SECRET_PREFIX) else { return Ok(value.into()) };
        self.0.read_named(name).map_err(|error| format!("the secret {name:?} can't be read: {error}"))
    }

    fn optional(&self, value: Option<&String>) -> Result<Option<SecretString>, String> {
        value.map(|value| self.resolve(value)).transpose()
    }

    fn key(&self, pem: Option<&String>, id: Option<&String>) -> Result<Option<ClientKey>, String> {
        Ok(self.optional(pem)?.map(|pem| ClientKey { pem, id: id.cloned() }))
    }
}

fn grant(definition: &OauthDefinition, secrets: &SecretResolver<'_>) -> Result<OauthGrant, String> {
    Ok(match definition.grant {
        OauthGrantType::AuthorizationCode => OauthGrant::AuthorizationCode,
        OauthGrantType::ClientCredentials => OauthGrant::ClientCredentials,
        OauthGrantType::JwtBearer => OauthGrant::JwtBearer(match &definition.assertion {
            Some(assertion) => AssertionSource::Issued(secrets.resolve(assertion)?),
            None => AssertionSource::SignedFor(definition.subject.clone()),
        }),
        OauthGrantType::EnterpriseManaged => {
            let provider = definition.identity_provider.as_ref();
            let provider = provider.ok_or("oauth.identity_provider is missing")?;
            OauthGrant::EnterpriseManaged(identity_provider(provider, secrets)?)
        }
    })
}

fn identity_provider(
    definition: &IdentityProviderDefinition,
    secrets: &SecretResolver<'_>,
) -> Result<IdentityProviderSettings, String> {
    Ok(IdentityProviderSettings {
        issuer: definition.issuer.clone(),
        token_endpoint: definition.token_endpoint.clone(),
        client_id: definition.client_id.clone(),
        client_secret: secrets.optional(definition.client_secret.as_ref())?,
        private_key: secrets.key(definition.private_key.as_ref(), definition.private_key_id.as_ref())?,
        subject_token: secrets.resolve(&definition.subject_token)?,
        subject_token_type: definition.subject_token_type,
    })
}
