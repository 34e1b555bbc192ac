//! Locations of API keys. The caller supplies the [`KeyReader`].

use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// Location of a key: `{ env = "NAME" }`, `{ file = "PATH" }`, `{ secret = "NAME" }` or `{ keyring = "NAME" }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyLocation {
    /// In a variable of the gateway's environment.
    Env(String),
    /// In a file, without the white space around it.
    File(PathBuf),
    /// Among the data folder's secrets.
    Secret(String),
    /// In the operating system's keyring.
    Keyring(String),
}

impl fmt::Display for KeyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Secret(name) => write!(f, "the secret {name}"),
            Self::Keyring(name) => write!(f, "the entry {name} of the keyring"),
        }
    }
}

/// A key that can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no key in {location}: {problem}")]
pub struct KeyError {
    /// Location of the key.
    pub location: KeyLocation,
    /// Description of the problem; never a part of the key.
    pub problem: String,
}

/// Reads keys from where they are kept.
pub trait KeyReader: Send + Sync + 'static {
    /// The key that is kept there, as it is now. May block for as long as a small file or the keyring takes.
    ///
    /// # Errors
    /// [`KeyError`] where there is none.
    fn read(&self, place: &KeyLocation) -> Result<SecretString, KeyError>;
}

/// A reader without keys.
#[cfg(test)]
pub(super) struct EmptyKeyReader;

#[cfg(test)]
impl KeyReader for EmptyKeyReader {
    fn read(&self, place: &KeyLocation) -> Result<SecretString, KeyError> {
        Err(KeyError { location: place.clone(), problem: "there are none".to_owned() })
    }
}
