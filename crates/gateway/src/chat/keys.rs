//! The keys of model providers: read where the owner keeps them, each time they are needed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use secrecy::SecretString;
use toolway_agent::models::{KeyError, KeyPlace, Keys};
use toolway_tools::secrets::{SecretError, SecretReader, SecretSource, Secrets as _};

use crate::toolbox::KeptSecrets;

/// The keys of model providers.
pub(super) struct ProviderKeys {
    reader: Arc<dyn SecretReader>,
    /// Where secrets are kept whose place the settings don't say.
    folder: PathBuf,
    /// Where the settings say that secrets are.
    places: RwLock<BTreeMap<String, SecretSource>>,
}

impl ProviderKeys {
    pub(super) fn new(
        places: &BTreeMap<String, SecretSource>,
        data_dir: &Path,
        reader: Arc<dyn SecretReader>,
    ) -> Self {
        Self { reader, folder: data_dir.join("secrets"), places: RwLock::new(places.clone()) }
    }

    /// Takes other places of secrets.
    pub(super) fn set(&self, places: &BTreeMap<String, SecretSource>) {
        self.places.write().clone_from(places);
    }

    fn secret(&self, name: &str) -> Result<SecretString, String> {
        let places = self.places.read().clone();
        let kept = KeptSecrets::new(places, self.folder.clone(), Arc::clone(&self.reader));
        kept.named(name).map_err(|error| error.to_string())
    }

    fn stored(&self, source: &SecretSource) -> Result<SecretString, String> {
        self.reader.read(source).map_err(|error| match error {
            SecretError::Unreadable { problem, .. } => problem,
            SecretError::Unknown(_) => error.to_string(),
        })
    }
}

impl fmt::Debug for ProviderKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderKeys").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Keys for ProviderKeys {
    fn read(&self, place: &KeyPlace) -> Result<SecretString, KeyError> {
        let found = match place {
            KeyPlace::Env(name) => self.stored(&SecretSource::Env(name.clone())),
            KeyPlace::File(path) => self.stored(&SecretSource::File(path.clone())),
            KeyPlace::Secret(name) => self.secret(name),
            KeyPlace::Keyring(name) => self.reader.keyring(name),
        };
        found.map_err(|problem| KeyError { place: place.clone(), problem })
    }
}

#[cfg(test)]
mod tests;
