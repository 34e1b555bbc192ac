//! Secrets that definitions name instead of holding them. Nothing here reads the environment or a file: the
//! program hands in a [`SecretReader`] that does.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// Where a secret is kept: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretLocation {
    /// In a variable of the gateway's environment.
    Env(String),
    /// In a file, without the white space around it.
    File(PathBuf),
}

impl fmt::Display for SecretLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

/// A secret that can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No secret has this name.
    #[error("there is no secret named {0:?}")]
    Unknown(String),
    /// It is not where it should be.
    #[error("no secret in {place}: {problem}")]
    Unreadable {
        /// Where it should be.
        place: SecretLocation,
        /// What is wrong there; never a part of the secret.
        problem: String,
    },
}

/// Reads secrets from where they are kept.
pub trait SecretReader: Send + Sync + 'static {
    /// The secret that is kept there. May block for as long as a small file takes.
    ///
    /// # Errors
    /// [`SecretError::Unreadable`] where there is none.
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError>;

    /// The secret of this name in the operating system's keyring. May block for as long as that takes.
    ///
    /// # Errors
    /// What is wrong, in words; never a part of the secret.
    fn keyring(&self, name: &str) -> Result<SecretString, String> {
        let _ = name;
        Err("no keyring is read here".to_owned())
    }
}

/// Secrets by name.
pub trait SecretProvider: Send + Sync + 'static {
    /// The secret of this name, as it is now.
    ///
    /// # Errors
    /// [`SecretError`] where there is none.
    fn get(&self, name: &str) -> Result<SecretString, SecretError>;
}

/// The secrets that the settings name.
pub struct ConfiguredSecrets {
    sources: BTreeMap<String, SecretLocation>,
    reader: Arc<dyn SecretReader>,
}

impl ConfiguredSecrets {
    /// Secrets that are kept in these places.
    #[must_use]
    pub fn new(sources: BTreeMap<String, SecretLocation>, reader: Arc<dyn SecretReader>) -> Self {
        Self { sources, reader }
    }
}

impl fmt::Debug for ConfiguredSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConfiguredSecrets").field(&self.sources).finish()
    }
}

impl SecretProvider for ConfiguredSecrets {
    fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        match self.sources.get(name) {
            None => Err(SecretError::Unknown(name.to_owned())),
            Some(source) => self.reader.read(source),
        }
    }
}

#[cfg(test)]
mod tests;
