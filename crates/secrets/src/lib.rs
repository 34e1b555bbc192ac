//! Locations of secrets, and the trait that reads them. Files that the owner writes name a location instead of holding a
//! secret. Nothing here reads a variable, a file's content or a keyring: the program passes a [`SecretReader`] that does.

#![cfg_attr(
    test,
    allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")
)]

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

mod named;

pub use named::NamedSecrets;

/// Location of a secret: `{ env = "NAME" }`, `{ file = "PATH" }`, `{ secret = "NAME" }` or `{ keyring = "NAME" }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretLocation {
    /// A variable of the gateway's environment.
    Env(String),
    /// A file. White space around the secret is ignored.
    File(PathBuf),
    /// The secret of this name: at the location in the settings, else in the data folder.
    Secret(String),
    /// An entry of the operating system's keyring.
    Keyring(String),
}

impl fmt::Display for SecretLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Secret(name) => write!(f, "the secret {name}"),
            Self::Keyring(name) => write!(f, "the entry {name} of the keyring"),
        }
    }
}

/// Location of a secret that has a name in the settings: `{ env = "NAME" }` or `{ file = "PATH" }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SecretLocation")]
pub enum NamedSecretLocation {
    /// A variable of the gateway's environment.
    Env(String),
    /// A file. White space around the secret is ignored.
    File(PathBuf),
}

impl From<NamedSecretLocation> for SecretLocation {
    fn from(location: NamedSecretLocation) -> Self {
        match location {
            NamedSecretLocation::Env(name) => Self::Env(name),
            NamedSecretLocation::File(path) => Self::File(path),
        }
    }
}

/// A secret that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// No secret has this name.
    #[error("there is no secret named {0:?}")]
    Unknown(String),
    /// The secret is not at its location.
    #[error("no secret in {location}: {problem}")]
    Unreadable {
        /// Its location.
        location: SecretLocation,
        /// The problem; never a part of the secret.
        problem: String,
    },
}

impl SecretError {
    /// The problem, for a message that has named the location already.
    #[must_use]
    pub fn problem_in(self, asked: &SecretLocation) -> String {
        match self {
            Self::Unreadable { location, problem } if location == *asked => problem,
            other => other.to_string(),
        }
    }
}

/// Reads secrets.
pub trait SecretReader: Send + Sync + 'static {
    /// Reads the current secret at a location. May block while it reads a file or the keyring.
    ///
    /// # Errors
    /// [`SecretError`] if there is none.
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError>;

    /// The secret of this name.
    ///
    /// # Errors
    /// [`SecretError`] if there is none.
    fn read_named(&self, name: &str) -> Result<SecretString, SecretError> {
        self.read(&SecretLocation::Secret(name.to_owned()))
    }
}

/// A reader without secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

impl SecretReader for NoSecrets {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        Err(match location {
            SecretLocation::Secret(name) => SecretError::Unknown(name.clone()),
            other => SecretError::Unreadable {
                location: other.clone(),
                problem: "secrets are not available here".to_owned(),
            },
        })
    }
}

#[cfg(test)]
mod tests;
