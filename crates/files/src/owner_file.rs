//! TOML files that their owner writes, such as `models.toml`: reading them within a limit, problems with line numbers,
//! and noticing changes.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use toolway_types::describe_renamed_field;

use crate::bounded_read::{self, ReadError};

/// Default size limit of such a file, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {message}", path.display())]
pub struct FileProblem {
    /// The file.
    pub path: PathBuf,
    /// The line in it, from 1; 1 if the problem is the file as a whole.
    pub line: usize,
    /// The problem.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl FileProblem {
    /// A problem in this line.
    pub fn new(path: &Path, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into(), hint: None }
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A problem at a place in a text, before it is known which file the text is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextProblem {
    /// The place in the text, in bytes.
    pub offset: usize,
    /// The problem.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl TextProblem {
    /// A problem at this offset.
    pub fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into(), hint: None }
    }

    /// A problem at the start of this span.
    #[allow(clippy::needless_pass_by_value, reason = "spans come by value from `toml`")]
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self::new(span.start, message)
    }

    /// A parser's error. `start` is the offset of the parsed part, for errors without a place. `renamed` has the fields
    /// that had another name in an earlier version.
    #[must_use]
    pub fn from_toml(start: usize, error: &toml::de::Error, renamed: &[(&str, &str)]) -> Self {
        let offset = error.span().map_or(start, |span| span.start);
        Self::new(offset, describe_renamed_field(error.message(), renamed))
    }

    /// Adds the next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The problem with its line. `text` is the file's whole text.
    #[must_use]
    pub fn in_file(self, text: &str, path: &Path) -> FileProblem {
        FileProblem {
            path: path.to_owned(),
            line: line_of(text, self.offset),
            message: self.message,
            hint: self.hint,
        }
    }
}

/// Returns the value that was read, or all problems sorted by line.
///
/// # Errors
/// The problems.
pub fn all_or_nothing<T>(
    read: T,
    problems: Vec<TextProblem>,
    text: &str,
    path: &Path,
) -> Result<T, Vec<FileProblem>> {
    if problems.is_empty() {
        return Ok(read);
    }
    let mut problems: Vec<_> = problems.into_iter().map(|problem| problem.in_file(text, path)).collect();
    problems.sort_by_key(|problem| problem.line);
    Err(problems)
}

/// Place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl TextPosition {
    /// Returns the position of a byte offset. An offset after the end is the end.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        Self { line: line_of(text, offset), column }
    }
}

/// The line of an offset in a text, from 1.
#[must_use]
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The text of a file of at most `max` bytes; `None` if there is no such file.
///
/// # Errors
/// The reason why it can't be read.
pub fn read_text(path: &Path, max: u64) -> Result<Option<String>, FileProblem> {
    bounded_read::read_text(path, max).map_err(|error| {
        let message = match error {
            ReadError::NotRegular => "it is not a regular file".to_owned(),
            ReadError::TooLong(max) => format!("the file is longer than {max} bytes"),
            ReadError::Io(error) => format!("the file can't be read: {error}"),
        };
        FileProblem::new(path, 1, message)
    })
}

/// Reads and parses a whole file of at most `max` bytes. A missing file is read as an empty one.
///
/// The stamps are those from before the read, to compare with [`FileStamps::of`] the next time.
pub fn read_stamped<T>(
    path: &Path,
    max: u64,
    parse: impl FnOnce(&str, &Path) -> Result<T, Vec<FileProblem>>,
) -> (FileStamps, Result<T, Vec<FileProblem>>) {
    let stamps = FileStamps::of([path]);
    let text = read_text(path, max).map_err(|problem| vec![problem]);
    (stamps, text.and_then(|text| parse(&text.unwrap_or_default(), path)))
}

/// State of some files: their names, times of modification and sizes. Two different states mean a change.
///
/// Take the stamps before you read the files. A change during reading is then noticed the next time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStamps(Vec<(PathBuf, Option<SystemTime>, u64)>);

impl FileStamps {
    /// The files' present state. Missing files are left out.
    pub fn of<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Self {
        let stamp = |path: P| {
            let about = fs::metadata(path.as_ref()).ok()?;
            Some((path.as_ref().to_owned(), about.modified().ok(), about.len()))
        };
        let mut stamps: Vec<_> = files.into_iter().filter_map(stamp).collect();
        stamps.sort();
        Self(stamps)
    }

    /// Number of files that exist.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if none of the files exists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
