//! The owner's OAuth settings of one server.

use secrecy::SecretString;

use crate::definition::OauthDefinition;
use toolway_secrets::SecretReader;

/// The owner's OAuth settings of one server, with secrets resolved.
#[derive(Debug, Clone, Default)]
pub struct OauthClientSettings {
    /// The id of a client that the owner registered.
    pub client_id: Option<String>,
    /// The secret of that client.
    pub client_secret: Option<SecretString>,
    /// The only authorization server that may receive the client's secret.
    pub issuer: Option<String>,
    /// The https address of the owner's client id metadata document.
    pub client_metadata_url: Option<String>,
    /// The scopes to request instead of those that the server names.
    pub scopes: Vec<String>,
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
        let secret = definition.client_secret.as_ref().map(|value| match value.strip_prefix("secret:") {
            Some(name) => secrets
                .read_named(name)
                .map_err(|error| format!("the secret {name:?} can't be read: {error}")),
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
