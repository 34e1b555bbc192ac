//! Secrets of tools and hooks: read from variables, files and the data folder's `secrets` (one file each, 0600).
//! Secrets are entered on standard input and never printed.

pub(crate) mod keyring;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use toolway_files::bounded_read::{self, ReadError};
use toolway_secrets::{SecretError, SecretLocation, SecretReader};

use crate::error::{CliError, CliResult, io_error_message};
use crate::folder::{DataFolder, create_private_dir, private_file};

/// Maximum size of a secret in bytes.
const MAX_SECRET: u64 = 64 << 10;
/// Maximum length of a name in characters.
const MAX_NAME: usize = 64;

/// Reads secrets from the environment at the start of the program, and from files when they are needed.
#[derive(Debug, Clone)]
pub(crate) struct SystemSecretReader {
    variables: HashMap<OsString, OsString>,
}

impl SystemSecretReader {
    /// Creates a reader with these variables.
    pub(crate) fn new(variables: HashMap<OsString, OsString>) -> Self {
        Self { variables }
    }

    fn variable(&self, name: &str) -> Result<String, String> {
        let value = self.variables.get(std::ffi::OsStr::new(name)).ok_or("it is not set")?;
        value.to_str().map(str::to_owned).ok_or_else(|| "it is not UTF-8".to_owned())
    }
}

impl SecretReader for SystemSecretReader {
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError> {
        let unreadable = |problem| SecretError::Unreadable { location: source.clone(), problem };
        let text = match source {
            SecretLocation::Env(name) => self.variable(name),
            SecretLocation::File(path) => read_file(path),
            SecretLocation::Keyring(name) => return keyring::read(name).map_err(unreadable),
            SecretLocation::Secret(name) => return Err(SecretError::Unknown(name.clone())),
        };
        text.and_then(|text| match text.trim() {
            "" => Err("it is empty".to_owned()),
            secret => Ok(SecretString::from(secret.to_owned())),
        })
        .map_err(unreadable)
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    match bounded_read::read_text(path, MAX_SECRET) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err("no such file or directory".to_owned()),
        Err(ReadError::Io(error)) if error.kind() == ErrorKind::InvalidData => {
            Err("it is not UTF-8".to_owned())
        }
        Err(ReadError::Io(error)) => Err(io_error_message(&error)),
        Err(error) => Err(error.to_string()),
    }
}

/// Validates the name of a secret, which is also its file name.
fn validate_name(name: &str) -> CliResult {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts_well && name.len() <= MAX_NAME && name.chars().all(plain) {
        return Ok(());
    }
    Err(CliError::usage(format!("invalid secret name {name:?}")).with_hint(format!(
        "use at most {MAX_NAME} letters, digits, _ and -, starting with a letter or digit, for example weather_key"
    )))
}

/// Returns the sorted names of the secrets in a data folder.
pub(crate) fn names(folder: &DataFolder) -> CliResult<Vec<String>> {
    let path = folder.secrets();
    let entries = match std::fs::read_dir(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| CliError::io("read", &path, &error))?,
    };
    let mut names: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| validate_name(name).is_ok())
        .collect();
    names.sort();
    Ok(names)
}

/// Stores a secret and returns its file.
pub(crate) fn set(folder: &DataFolder, name: &str, secret: &SecretString) -> CliResult<PathBuf> {
    validate_name(name)?;
    let text = secret.expose_secret();
    let wrong = |what: &str| CliError::new(format!("the secret {what}")).with_code("secret");
    if text.trim().is_empty() {
        return Err(wrong("is empty").with_hint("pass it on standard input: toolway secrets set NAME < FILE"));
    }
    if text.len() as u64 > MAX_SECRET {
        return Err(wrong(&format!("is longer than {MAX_SECRET} bytes")).with_hint("pass only the secret"));
    }
    folder.create()?;
    create_private_dir(&folder.secrets())?;
    let path = folder.secrets().join(name);
    private_file::replace(&path, text.trim().as_bytes())?;
    Ok(path)
}

/// Removes a secret.
pub(crate) fn remove(folder: &DataFolder, name: &str) -> CliResult {
    validate_name(name)?;
    let path = folder.secrets().join(name);
    std::fs::remove_file(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => CliError::new(format!("the data folder has no secret {name:?}"))
            .with_code("secret_not_found")
            .with_hint("list the secrets with `toolway secrets list`"),
        _ => CliError::io("remove", &path, &error),
    })
}

#[cfg(test)]
mod tests;
