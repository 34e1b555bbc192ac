//! Errors of the store. Their texts tell a person how to fix the problem.

use std::io;
use std::path::{Path, PathBuf};

use crate::size_limits::{MAX_MESSAGE_BYTES, MAX_SESSION_BYTES};

/// Why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// The attempted action, such as `create`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("the database {doing} failed: {source}")]
    Database {
        /// The attempted action, such as `read of the calls`.
        doing: &'static str,
        /// Error of SQLite.
        source: sqlx::Error,
    },
    /// The file is not a database.
    #[error(
        "{} is not a SQLite database; the file was not changed. To start with an empty database, move it away; to restore, put a backup in its place",
        path.display()
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is another program's database.
    #[error(
        "{} is a database, but not one of Toolway's; the file was not changed. Use another data folder, or move the file away",
        path.display()
    )]
    ForeignDatabase {
        /// The file.
        path: PathBuf,
    },
    /// A newer Toolway made it.
    #[error(
        "{} was written by a newer Toolway: its version is {found}, and this program supports versions up to {known}. \
         Use the newer program again, or put a copy from before the upgrade (folder `backups` beside it) in its place",
        path.display()
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The file's contents contradict themselves.
    #[error("{} is damaged ({finding}); nothing was changed", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first thing that SQLite's check found.
        finding: String,
    },
    /// There is something where a new file was to be written.
    #[error("{} already exists; choose another file name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A slug belongs to another identity, or to a source that was removed; or its identity has another slug.
    #[error("the source name {slug} belongs to another source")]
    SlugTaken {
        /// The slug.
        slug: String,
    },
    /// The token exists already.
    #[error("a token {id} already exists")]
    TokenExists {
        /// Its id.
        id: String,
    },
    /// The grant exists already.
    #[error("a grant {id} already exists")]
    GrantExists {
        /// Its id.
        id: String,
    },
    /// There is no such thing.
    #[error("there is no {what} {id}")]
    Missing {
        /// Kind of the missing item, such as `running turn`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A conversation belongs to another principal.
    #[error("the conversation {id} belongs to another principal")]
    SessionTaken {
        /// Its id.
        id: String,
    },
    /// A message is larger than one may be.
    #[error(
        "a message of {bytes} bytes is too large; the maximum is {MAX_MESSAGE_BYTES} bytes. \
         Send pictures smaller, or in several messages"
    )]
    MessageTooLarge {
        /// Size of the message in bytes.
        bytes: usize,
    },
    /// A conversation is as large as one may be.
    #[error(
        "the conversation {id} is full: its messages have {MAX_SESSION_BYTES} bytes, the maximum. Start a new one"
    )]
    SessionFull {
        /// Its id.
        id: String,
    },
    /// The cursor is not one that a page gave.
    #[error("the cursor is invalid; start again without a cursor")]
    BadCursor,
    /// A stored value has no meaning here.
    #[error("a stored {what} cannot be read: {text:?}")]
    BadValue {
        /// Kind of the value.
        what: &'static str,
        /// The stored text.
        text: String,
    },
    /// Records wait to be written because the database can't be written to.
    #[error("{waiting} records could not be written yet: {why}")]
    Unwritten {
        /// Number of records.
        waiting: usize,
        /// The last error.
        why: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    pub(crate) fn database(doing: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Database { doing, source }
    }
}

/// SQLite's primary result codes that pass by themselves or once there is room again.
const TRANSIENT_CODES: &[i32] = &[
    5,  // busy
    6,  // locked
    7,  // out of memory
    8,  // read-only
    10, // input or output
    13, // full
    14, // cannot open
];

/// SQLite's primary result code, where the error has one.
pub(crate) fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|extended| extended & 0xff)
}

/// Reports whether the same write may succeed later. An error that is not SQLite's own (its thread is gone, the
/// file can't be opened) counts as passing: the connection is made anew.
pub(crate) fn is_transient(error: &sqlx::Error) -> bool {
    sqlite_code(error).is_none_or(|code| TRANSIENT_CODES.contains(&code))
}

/// Reports whether the connection may be broken. A busy or full database does not count.
pub(crate) fn is_connection_error(error: &sqlx::Error) -> bool {
    sqlite_code(error).is_none_or(|code| !matches!(code, 5 | 6 | 13))
}

/// The error of a connection that could not be opened.
pub(crate) fn open_error(path: &Path, error: sqlx::Error) -> StoreError {
    match sqlite_code(&error) {
        // "File is not a database", which the first bytes did not tell.
        Some(26) => StoreError::NotADatabase { path: path.to_owned() },
        _ => StoreError::Database { doing: "opening", source: error },
    }
}
