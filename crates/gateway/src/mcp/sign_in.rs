//! Sign-in to MCP servers. The gateway and `toolway mcp login` both use this module, so that each finds the
//! tokens that the other stored.

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::oauth::store::{FileTokenStore, StoreKey, StoreKeyFile, StoreKeySource};
use toolway_mcp::oauth::{
    LoginBrowser, OauthAuthorizer, OauthClientSettings, OauthDeps, OauthHttpClient, TokenStoreError,
};
use toolway_secrets::{NamedSecrets, SecretLocation, SecretReader};
use toolway_types::{Clock, Slug};

use crate::gateway_tools::ToolEnv;
use crate::settings::Settings;

/// Folder of encrypted tokens, in the data folder.
pub const TOKENS_FOLDER: &str = "mcp-tokens";
/// File with their key in that folder, if no keyring has it.
const KEY_FILE: &str = "store.key";
/// Name of their key in a keyring.
const KEYRING_NAME: &str = "mcp-tokens";

/// Function that stores a secret in the keyring under a name, or returns the reason why it can't.
pub type KeyringWriter = Arc<dyn Fn(&str, &SecretString) -> Result<(), String> + Send + Sync>;

/// Function that returns a server's definition, or `None` if the server does not exist.
pub type DefinitionLookup = Arc<dyn Fn(&Slug) -> Option<ServerDefinition> + Send + Sync>;

/// Dependencies of the sign-in.
pub struct SignInParts<'a> {
    /// The data folder.
    pub data_dir: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// Environment of this computer.
    pub tool_env: &'a ToolEnv,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Lookup of server definitions.
    pub definition: DefinitionLookup,
    /// Keyring for a new key, if there is one.
    pub keyring: Option<KeyringWriter>,
    /// Browser of the person who signs in, if there is one.
    pub browser: Option<Arc<dyn LoginBrowser>>,
}

/// Creates the authorizer with the tokens of MCP servers in this data folder.
#[must_use]
pub fn build_oauth(parts: SignInParts<'_>) -> Arc<OauthAuthorizer> {
    let SignInParts { data_dir, settings, tool_env: env, clock, definition, keyring, browser } = parts;
    let folder = data_dir.join(TOKENS_FOLDER);
    let key = KeyringOrFileKey {
        file: StoreKeyFile::new(folder.join(KEY_FILE)),
        secrets: Arc::clone(&env.secrets),
        write_to_keyring: keyring,
    };
    let secrets = NamedSecrets::new(&settings.secrets, data_dir.join("secrets"), Arc::clone(&env.secrets));
    let settings_of = move |server: &Slug| {
        let definition = definition(server);
        OauthClientSettings::from_definition(
            definition.and_then(|it| it.oauth).as_ref(),
            &secrets as &dyn SecretReader,
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

/// The key of the stored tokens: in a keyring if this computer has one, otherwise in a private file. An
/// existing file wins, so that gateway and command line never use two keys.
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
        // A keyring that can't be read, for example a locked one, looks like an empty one.
        let entry = SecretLocation::Keyring(KEYRING_NAME.to_owned());
        self.secrets.read(&entry).ok().map(|text| StoreKey::parse(&text)).transpose()
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
