//! Signing in to MCP servers: with what the gateway and `toolway mcp login` do it alike, so that the one finds what the
//! other kept.

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::oauth::store::{FileTokenStore, StoreKey, StoreKeyFile, StoreKeySource};
use toolway_mcp::oauth::{
    LoginBrowser, OauthAuthorizer, OauthClientSettings, OauthDeps, OauthHttpClient, TokenStoreError,
};
use toolway_mcp::upstream::SecretResolver;
use toolway_tools::secrets::SecretReader;
use toolway_types::{Clock, Slug};

use super::McpSecretResolver;
use crate::gateway_tools::{NamedSecrets, ToolEnv};
use crate::settings::Settings;

/// The folder in the data folder that tokens lie in, encrypted.
pub const TOKENS_FOLDER: &str = "mcp-tokens";
/// The file there that holds their key, where no keyring does.
const KEY_FILE: &str = "store.key";
/// The name of their key in a keyring.
const KEYRING_NAME: &str = "mcp-tokens";

/// Keeps a secret in the keyring under a name, or says in words why it can't.
pub type KeyringWriter = Arc<dyn Fn(&str, &SecretString) -> Result<(), String> + Send + Sync>;

/// What the owner says of a server; none of one that there is not.
pub type DefinitionLookup = Arc<dyn Fn(&Slug) -> Option<ServerDefinition> + Send + Sync>;

/// What signing in works with.
pub struct SignInParts<'a> {
    /// The folder with all that is kept.
    pub data_dir: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// What is given of this computer.
    pub tool_env: &'a ToolEnv,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What the owner says of a server.
    pub definition: DefinitionLookup,
    /// Where a new key can be kept in a keyring.
    pub keyring: Option<KeyringWriter>,
    /// Where there is a person to sign in.
    pub browser: Option<Arc<dyn LoginBrowser>>,
}

/// Tokens of MCP servers, in this data folder.
#[must_use]
pub fn build_oauth(parts: SignInParts<'_>) -> Arc<OauthAuthorizer> {
    let SignInParts { data_dir, settings, tool_env: env, clock, definition, keyring, browser } = parts;
    let folder = data_dir.join(TOKENS_FOLDER);
    let key = KeyringOrFileKey {
        file: StoreKeyFile::new(folder.join(KEY_FILE)),
        secrets: Arc::clone(&env.secrets),
        write_to_keyring: keyring,
    };
    let secrets = McpSecretResolver(NamedSecrets::new(
        settings.secrets.clone(),
        data_dir.join("secrets"),
        Arc::clone(&env.secrets),
    ));
    let settings_of = move |server: &Slug| {
        let definition = definition(server);
        OauthClientSettings::from_definition(
            definition.and_then(|it| it.oauth).as_ref(),
            &secrets as &dyn SecretResolver,
        )
    };
    let tls = env.tls.clone();
    Arc::new(OauthAuthorizer::new(OauthDeps {
        http: OauthHttpClient::new(move || tls.make()),
        clock,
        store: Arc::new(FileTokenStore::new(folder, Arc::new(key))),
        settings: Arc::new(settings_of),
        browser,
    }))
}

/// The key of the stored tokens: in a keyring where this computer has one, else in a file for its owner alone. A file
/// that is there counts, so that gateway and command line never have two keys.
struct KeyringOrFileKey {
    file: StoreKeyFile,
    secrets: Arc<dyn SecretReader>,
    write_to_keyring: Option<KeyringWriter>,
}

impl StoreKeySource for KeyringOrFileKey {
    fn load(&self) -> Result<Option<StoreKey>, TokenStoreError> {
        if let Some(key) = self.file.load()? {
            return Ok(Some(key));
        }
        // A keyring that can't be read, as one that is locked, looks as if it held none.
        self.secrets.keyring(KEYRING_NAME).ok().map(|text| StoreKey::parse(&text)).transpose()
    }

    fn load_or_create(&self) -> Result<StoreKey, TokenStoreError> {
        if let Some(key) = self.load()? {
            return Ok(key);
        }
        if let Some(keep) = &self.write_to_keyring {
            let key = StoreKey::random()?;
            if keep(KEYRING_NAME, &key.to_text()).is_ok() {
                return Ok(key);
            }
        }
        self.file.load_or_create()
    }
}

#[cfg(test)]
mod tests;
