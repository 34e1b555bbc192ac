//! Secrets that definitions refer to by name. This module reads neither the environment nor files: the
//! program passes a [`SecretReader`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// Location of a secret: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretLocation {
    /// A variable of the gateway's environment.
    Env(String),
    /// A file; white space around its content is removed.
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

/// Reason why a secret is not available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No secret has this name.
    #[error("there is no secret named {0:?}")]
    Unknown(String),
    /// The secret cannot be read.
    #[error("no secret in {place}: {problem}")]
    Unreadable {
        /// Location of the secret.
        place: SecretLocation,
        /// Description of the problem. Never contains a part of the secret.
        problem: String,
    },
}

/// Reads secrets from their locations.
pub trait SecretReader: Send + Sync + 'static {
    /// Reads a secret. May block for as long as reading a small file takes.
    ///
    /// # Errors
    /// [`SecretError::Unreadable`] if it cannot be read.
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError>;

    /// Reads a secret from the operating system's keyring. May block.
    ///
    /// # Errors
    /// A description of the problem. Never contains a part of the secret.
    fn keyring(&self, name: &str) -> Result<SecretString, String> {
        let _ = name;
        Err("a keyring is not supported here".to_owned())
    }
}

/// Provides secrets by name.
pub trait SecretProvider: Send + Sync + 'static {
    /// Reads the current value of a secret.
    ///
    /// # Errors
    /// [`SecretError`] if it is not available.
    fn get(&self, name: &str) -> Result<SecretString, SecretError>;
}

/// The secrets listed in the settings.
pub struct ConfiguredSecrets {
    sources: BTreeMap<String, SecretLocation>,
    reader: Arc<dyn SecretReader>,
}

impl ConfiguredSecrets {
    /// Creates a provider of secrets at these locations.
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
