//! Signing in to MCP servers: with what the gateway and `toolway mcp login` do it alike, so that the one finds what the
//! other kept.

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_mcp::definition::ServerDefinition;
use toolway_mcp::oauth::store::{FileTokenStore, KeyFile, KeySource, StoreKey};
use toolway_mcp::oauth::{Browser, ClientSettings, Oauth, OauthHttp, OauthParts, TokenStoreError};
use toolway_mcp::upstream::SecretSource;
use toolway_tools::secrets::SecretReader;
use toolway_types::{Clock, Slug};

use super::NamedSecrets;
use crate::settings::Settings;
use crate::toolbox::{KeptSecrets, ToolSurroundings};

/// The folder in the data folder that tokens lie in, encrypted.
pub const TOKENS_FOLDER: &str = "mcp-tokens";
/// The file there that holds their key, where no keyring does.
const KEY_FILE: &str = "store.key";
/// The name of their key in a keyring.
const KEYRING_NAME: &str = "mcp-tokens";

/// Keeps a secret in the keyring under a name, or says in words why it can't.
pub type KeepInKeyring = Arc<dyn Fn(&str, &SecretString) -> Result<(), String> + Send + Sync>;

/// What the owner says of a server; none of one that there is not.
pub type DefinitionOf = Arc<dyn Fn(&Slug) -> Option<ServerDefinition> + Send + Sync>;

/// What signing in works with.
pub struct SignInParts<'a> {
    /// The folder with all that is kept.
    pub data_dir: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// What is given of this computer.
    pub surroundings: &'a ToolSurroundings,
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// What the owner says of a server.
    pub definition: DefinitionOf,
    /// Where a new key can be kept in a keyring.
    pub keyring: Option<KeepInKeyring>,
    /// Where there is a person to sign in.
    pub browser: Option<Arc<dyn Browser>>,
}

/// Tokens of MCP servers, in this data folder.
#[must_use]
pub fn oauth(parts: SignInParts<'_>) -> Arc<Oauth> {
    let SignInParts { data_dir, settings, surroundings, clock, definition, keyring, browser } = parts;
    let folder = data_dir.join(TOKENS_FOLDER);
    let key = PlacedKey {
        file: KeyFile::new(folder.join(KEY_FILE)),
        secrets: Arc::clone(&surroundings.secrets),
        keep: keyring,
    };
    let secrets = NamedSecrets(KeptSecrets::new(
        settings.secrets.clone(),
        data_dir.join("secrets"),
        Arc::clone(&surroundings.secrets),
    ));
    let settings_of = move |server: &Slug| {
        let definition = definition(server);
        ClientSettings::of(definition.and_then(|it| it.oauth).as_ref(), &secrets as &dyn SecretSource)
    };
    let tls = surroundings.tls.clone();
    Arc::new(Oauth::new(OauthParts {
        http: OauthHttp::new(move || tls.make()),
        clock,
        store: Arc::new(FileTokenStore::new(folder, Arc::new(key))),
        settings: Arc::new(settings_of),
        browser,
    }))
}

/// The key of the stored tokens: in a keyring where this computer has one, else in a file for its owner alone. A file
/// that is there counts, so that gateway and command line never have two keys.
struct PlacedKey {
    file: KeyFile,
    secrets: Arc<dyn SecretReader>,
    keep: Option<KeepInKeyring>,
}

impl KeySource for PlacedKey {
    fn find(&self) -> Result<Option<StoreKey>, TokenStoreError> {
        if let Some(key) = self.file.find()? {
            return Ok(Some(key));
        }
        // A keyring that can't be read, as one that is locked, looks as if it held none.
        self.secrets.keyring(KEYRING_NAME).ok().map(|text| StoreKey::parse(&text)).transpose()
    }

    fn find_or_make(&self) -> Result<StoreKey, TokenStoreError> {
        if let Some(key) = self.find()? {
            return Ok(key);
        }
        if let Some(keep) = &self.keep {
            let key = StoreKey::random()?;
            if keep(KEYRING_NAME, &key.text()).is_ok() {
                return Ok(key);
            }
        }
        self.file.find_or_make()
    }
}

#[cfg(test)]
mod tests;
