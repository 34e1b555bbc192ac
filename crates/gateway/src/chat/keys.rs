//! Reads the keys of model providers from their locations each time they are needed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use secrecy::SecretString;
use toolway_agent::models::{KeyError, KeyLocation, KeyReader};
use toolway_tools::secrets::{SecretError, SecretLocation, SecretProvider as _, SecretReader};

use crate::gateway_tools::NamedSecrets;

/// Reader of the keys of model providers.
pub(super) struct ProviderKeys {
    reader: Arc<dyn SecretReader>,
    /// Folder of secrets without a location in the settings.
    folder: PathBuf,
    /// Locations of secrets in the settings.
    places: RwLock<BTreeMap<String, SecretLocation>>,
}

impl ProviderKeys {
    pub(super) fn new(
        places: &BTreeMap<String, SecretLocation>,
        data_dir: &Path,
        reader: Arc<dyn SecretReader>,
    ) -> Self {
        Self { reader, folder: data_dir.join("secrets"), places: RwLock::new(places.clone()) }
    }

    /// Replaces the locations of secrets.
    pub(super) fn set(&self, places: &BTreeMap<String, SecretLocation>) {
        self.places.write().clone_from(places);
    }

    fn secret(&self, name: &str) -> Result<SecretString, String> {
        let places = self.places.read().clone();
        let kept = NamedSecrets::new(places, self.folder.clone(), Arc::clone(&self.reader));
        kept.get(name).map_err(|error| error.to_string())
    }

    fn read_stored(&self, source: &SecretLocation) -> Result<SecretString, String> {
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

impl KeyReader for ProviderKeys {
    fn read(&self, place: &KeyLocation) -> Result<SecretString, KeyError> {
        let found = match place {
            KeyLocation::Env(name) => self.read_stored(&SecretLocation::Env(name.clone())),
            KeyLocation::File(path) => self.read_stored(&SecretLocation::File(path.clone())),
            KeyLocation::Secret(name) => self.secret(name),
            KeyLocation::Keyring(name) => self.reader.keyring(name),
        };
        found.map_err(|problem| KeyError { location: place.clone(), problem })
    }
}

#[cfg(test)]
mod tests;
