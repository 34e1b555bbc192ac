//! Reading a whole file within a size limit.
//!
//! Only regular files are read, because a pipe may block or never end. The exception is [`read_input`].

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// A file that was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is a folder, a pipe or a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// It is longer than this number of bytes.
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
    /// The file system's error; [`io::ErrorKind::InvalidData`] if the content is not UTF-8 text.
    #[error("it can't be read: {0}")]
    Io(#[from] io::Error),
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            other => Self::new(io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}

/// The content of a file of at most `max` bytes; `None` if there is no such file.
///
/// # Errors
/// [`ReadError`].
pub fn read(path: &Path, max: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let open = || {
        if !fs::metadata(path)?.is_file() {
            return Err(ReadError::NotRegular);
        }
        Ok(File::open(path)?)
    };
    let file = match open() {
        Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    read_within(file, max).map(Some)
}

/// The text of a file of at most `max` bytes; `None` if there is no such file.
///
/// # Errors
/// [`ReadError`].
pub fn read_text(path: &Path, max: u64) -> Result<Option<String>, ReadError> {
    read(path, max)?.map(into_text).transpose()
}

/// The same for a path that a person wrote on the command line, which may be a pipe: `/dev/stdin`, or `<(…)` in a shell.
///
/// # Errors
/// [`ReadError`].
pub fn read_input(path: &Path, max: u64) -> Result<Option<String>, ReadError> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => read_within(file?, max).and_then(into_text).map(Some),
    }
}

fn read_within(file: File, max: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(ReadError::TooLong(max)) } else { Ok(bytes) }
}

fn into_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    // The same words as the standard library's `read_to_string`.
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    Ok(String::from_utf8(bytes).map_err(not_text)?)
}

#[cfg(test)]
mod tests;
