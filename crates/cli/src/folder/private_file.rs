//! Reads and writes private files (0600), atomically.

use std::path::Path;

use secrecy::SecretString;
use toolway_files::bounded_read::{self, ReadError};
use toolway_files::private_file;

use crate::error::{CliError, CliResult};

/// Maximum size of a small file in bytes.
const MAX_SMALL: u64 = 1 << 20;

/// Replaces a file (0600) atomically, also in case of a crash.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> CliResult {
    private_file::write(path, bytes).map_err(|error| CliError::io("write", path, &error))
}

/// Writes a new file (0600), which appears with all of its content. Fails if it exists.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> CliResult {
    private_file::write_new(path, bytes).map_err(|error| CliError::io("write", path, &error))
}

/// Reads a small file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> CliResult<Option<String>> {
    bounded_read::read_text(path, MAX_SMALL).map_err(|error| match error {
        ReadError::Io(error) => CliError::io("read", path, &error),
        ReadError::NotRegular => CliError::new(format!("{} is not a regular file", path.display())),
        ReadError::TooLong(max) => {
            CliError::new(format!("{} is too large (more than {max} bytes)", path.display()))
        }
    })
}

/// Reads a token from a file; `None` if it does not exist.
pub(crate) fn read_token(path: &Path) -> CliResult<Option<SecretString>> {
    let Some(text) = read(path)? else { return Ok(None) };
    let token = text.trim();
    if token.is_empty() || token.chars().any(|c| !c.is_ascii_graphic()) {
        return Err(CliError::new(format!("{} is not a valid token file", path.display()))
            .with_hint("the file must contain one token and nothing else"));
    }
    Ok(Some(token.to_owned().into()))
}
