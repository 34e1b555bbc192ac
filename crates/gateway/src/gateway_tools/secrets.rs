//! Reads secrets by name from the location in the settings, or from the data folder's `secrets`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_tools::secrets::{SecretError, SecretLocation, SecretProvider, SecretReader};

/// Reader of secrets by name.
pub(crate) struct NamedSecrets {
    sources: BTreeMap<String, SecretLocation>,
    folder: PathBuf,
    reader: Arc<dyn SecretReader>,
}

impl NamedSecrets {
    pub(crate) fn new(
        sources: BTreeMap<String, SecretLocation>,
        folder: PathBuf,
        reader: Arc<dyn SecretReader>,
    ) -> Self {
        Self { sources, folder, reader }
    }
}

impl SecretProvider for NamedSecrets {
    fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        if let Some(source) = self.sources.get(name) {
            return self.reader.read(source);
        }
        // Names become file names, so they must be plain.
        let is_plain = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let path = self.folder.join(name);
        if !is_plain || !path.is_file() {
            return Err(SecretError::Unknown(name.to_owned()));
        }
        self.reader.read(&SecretLocation::File(path))
    }
}

/// Reader without secrets.
#[derive(Debug)]
pub(super) struct EmptySecretReader;

impl SecretReader for EmptySecretReader {
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError> {
        Err(SecretError::Unreadable {
            place: source.clone(),
            problem: "secrets are not available here".to_owned(),
        })
    }
}
