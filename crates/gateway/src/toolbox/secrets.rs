//! Secrets by name: where the settings say, else in the data folder's `secrets`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use secrecy::SecretString;
use toolway_tools::secrets::{SecretError, SecretReader, SecretSource, Secrets};

/// Secrets by name.
pub(crate) struct KeptSecrets {
    sources: BTreeMap<String, SecretSource>,
    folder: PathBuf,
    reader: Arc<dyn SecretReader>,
}

impl KeptSecrets {
    pub(crate) fn new(
        sources: BTreeMap<String, SecretSource>,
        folder: PathBuf,
        reader: Arc<dyn SecretReader>,
    ) -> Self {
        Self { sources, folder, reader }
    }
}

impl Secrets for KeptSecrets {
    fn named(&self, name: &str) -> Result<SecretString, SecretError> {
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
        self.reader.read(&SecretSource::File(path))
    }
}

/// Where there are none.
#[derive(Debug)]
pub(super) struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read(&self, source: &SecretSource) -> Result<SecretString, SecretError> {
        Err(SecretError::Unreadable { place: source.clone(), problem: "no secrets are read here".to_owned() })
    }
}
