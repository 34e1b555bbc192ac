//! Secrets by name: at the location in the settings, else in the data folder's `secrets`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use secrecy::SecretString;

use crate::{NamedSecretLocation, SecretError, SecretLocation, SecretReader};

/// Reads secrets by name, and secrets at other locations with another reader.
pub struct NamedSecrets {
    locations: RwLock<BTreeMap<String, NamedSecretLocation>>,
    folder: PathBuf,
    reader: Arc<dyn SecretReader>,
}

impl NamedSecrets {
    /// Creates a reader with the locations of the settings. In `folder`, each secret is a file of its name.
    #[must_use]
    pub fn new(
        locations: &BTreeMap<String, NamedSecretLocation>,
        folder: PathBuf,
        reader: Arc<dyn SecretReader>,
    ) -> Self {
        Self { locations: RwLock::new(locations.clone()), folder, reader }
    }

    /// Replaces the locations.
    pub fn set_locations(&self, locations: &BTreeMap<String, NamedSecretLocation>) {
        self.locations.write().clone_from(locations);
    }

    fn locate(&self, name: &str) -> Result<SecretLocation, SecretError> {
        if let Some(location) = self.locations.read().get(name) {
            return Ok(location.clone().into());
        }
        // Names become file names, so they must be plain.
        let is_plain = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let path = self.folder.join(name);
        if is_plain && path.is_file() {
            Ok(SecretLocation::File(path))
        } else {
            Err(SecretError::Unknown(name.to_owned()))
        }
    }
}

impl fmt::Debug for NamedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedSecrets").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl SecretReader for NamedSecrets {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        match location {
            SecretLocation::Secret(name) => self.reader.read(&self.locate(name)?),
            other => self.reader.read(other),
        }
    }
}
