//! Files in which the owner defines models and agents: problems and changes.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Maximum size of such a file, in bytes.
pub(crate) const MAX_FILE: u64 = 1 << 20;

/// A problem of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct FileProblem {
    /// Path of the file.
    pub path: PathBuf,
    /// Line in the file, from 1; 1 for the whole file.
    pub line: usize,
    /// Description of the problem.
    pub message: String,
    /// The next step for a person.
    pub hint: Option<String>,
}

impl FileProblem {
    pub(crate) fn new(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Reads a file of at most [`MAX_FILE`] bytes; `None` if it does not exist.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, FileProblem> {
    read_text_limited(path, MAX_FILE)
}

/// Reads a file of at most `most` bytes; `None` if it does not exist. A pipe or device is refused without
/// opening it, because reading it might never end.
pub(crate) fn read_text_limited(path: &Path, most: u64) -> Result<Option<String>, FileProblem> {
    let unreadable =
        |error: std::io::Error| FileProblem::new(path, 1, format!("the file can't be read: {error}"));
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(FileProblem::new(path, 1, "it is no regular file")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    }
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > most {
        return Err(FileProblem::new(path, 1, format!("the file is longer than {most} bytes")));
    }
    Ok(Some(text))
}

/// Identifies one state of some files.
pub(crate) type FileStamps = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// Returns the current state of files. Missing files are omitted.
pub(crate) fn file_stamps(files: impl IntoIterator<Item = PathBuf>) -> FileStamps {
    let mut mark: FileStamps = files
        .into_iter()
        .filter_map(|path| {
            let about = std::fs::metadata(&path).ok()?;
            Some((path, about.modified().ok(), about.len()))
        })
        .collect();
    mark.sort();
    mark
}

/// Returns the line of a position in a text, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
