//! The owner's OAuth settings of one server.

use secrecy::SecretString;

use crate::definition::OauthDefinition;
use crate::upstream::secrets::SecretResolver;

/// What the owner says of one server's OAuth, with its secrets read.
#[derive(Debug, Clone, Default)]
pub struct OauthClientSettings {
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<SecretString>,
    /// The only authorization server that it may be shown to.
    pub issuer: Option<String>,
    /// The https address of a client id metadata document that the owner keeps.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for, in the place of those that the server names.
    pub scopes: Vec<String>,
}

impl OauthClientSettings {
    /// Of a definition, with `secret:NAME` resolved. It may block for as long as that takes.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn from_definition(
        definition: Option<&OauthDefinition>,
        secrets: &dyn SecretResolver,
    ) -> Result<Self, String> {
        let Some(definition) = definition else { return Ok(Self::default()) };
        let secret = definition.client_secret.as_ref().map(|value| match value.strip_prefix("secret:") {
            Some(name) => secrets.resolve(name).map_err(|why| format!("the secret {name:?} {why}")),
            None => Ok(SecretString::from(value.clone())),
        });
        Ok(Self {
            client_id: definition.client_id.clone(),
            client_secret: secret.transpose()?,
            issuer: definition.issuer.clone(),
            client_metadata_url: definition.client_metadata_url.clone(),
            scopes: definition.scopes.clone(),
        })
    }
}
