//! Errors of the store. Their texts tell a person how to fix the problem.

use std::io;
use std::path::{Path, PathBuf};

use crate::size_limits::{MAX_MESSAGE_BYTES, MAX_SESSION_BYTES};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// The attempted action, such as `create`.
        doing: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A SQLite operation failed.
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
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is the database of another program.
    #[error(
        "{} is a database, but not one of Toolway's; the file was not changed. Use another data folder, or move the file away",
        path.display()
    )]
    ForeignDatabase {
        /// Path of the file.
        path: PathBuf,
    },
    /// The database was written by a newer Toolway.
    #[error(
        "{} was written by a newer Toolway: its version is {found}, and this program supports versions up to {known}. \
         Use the newer program again, or put a copy from before the upgrade (folder `backups` beside it) in its place",
        path.display()
    )]
    TooNew {
        /// Path of the file.
        path: PathBuf,
        /// Schema version of the database.
        found: i64,
        /// Newest schema version supported by this program.
        known: i64,
    },
    /// The database is damaged.
    #[error("{} is damaged ({finding}); nothing was changed", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// First finding of SQLite's check.
        finding: String,
    },
    /// The file to be written exists.
    #[error("{} already exists; choose another file name", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The slug belongs to another identity or to a removed source, or the identity has another slug.
    #[error("the source name {slug} belongs to another source")]
    SlugTaken {
        /// The slug.
        slug: String,
    },
    /// The token already exists.
    #[error("a token {id} already exists")]
    TokenExists {
        /// Id of the token.
        id: String,
    },
    /// The grant already exists.
    #[error("a grant {id} already exists")]
    GrantExists {
        /// Id of the grant.
        id: String,
    },
    /// The item does not exist.
    #[error("there is no {what} {id}")]
    Missing {
        /// Kind of the missing item, such as `running turn`.
        what: &'static str,
        /// Id of the item.
        id: String,
    },
    /// The conversation belongs to another principal.
    #[error("the conversation {id} belongs to another principal")]
    SessionTaken {
        /// Id of the conversation.
        id: String,
    },
    /// The message is too large.
    #[error(
        "a message of {bytes} bytes is too large; the maximum is {MAX_MESSAGE_BYTES} bytes. \
         Send pictures smaller, or in several messages"
    )]
    MessageTooLarge {
        /// Size of the message, in bytes.
        bytes: usize,
    },
    /// The conversation is full.
    #[error(
        "the conversation {id} is full: its messages have {MAX_SESSION_BYTES} bytes, the maximum. Start a new one"
    )]
    SessionFull {
        /// Id of the conversation.
        id: String,
    },
    /// The cursor is invalid.
    #[error("the cursor is invalid; start again without a cursor")]
    BadCursor,
    /// A stored value is invalid.
    #[error("a stored {what} cannot be read: {text:?}")]
    BadValue {
        /// Kind of the value.
        what: &'static str,
        /// The stored text.
        text: String,
    },
    /// Records could not be written yet, because the database cannot be written to.
    #[error("{waiting} records could not be written yet: {why}")]
    Unwritten {
        /// Number of records.
        waiting: usize,
        /// Text of the last error.
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

/// SQLite's primary result codes of temporary errors.
const TRANSIENT_CODES: &[i32] = &[
    5,  // busy
    6,  // locked
    7,  // out of memory
    8,  // read-only
    10, // input or output
    13, // full
    14, // cannot open
];

/// SQLite's primary result code, if the error has one.
pub(crate) fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|extended| extended & 0xff)
}

/// True if the same write may succeed later. An error that is not from SQLite (its thread is gone, the file
/// cannot be opened) also counts as temporary, because the connection is opened again.
pub(crate) fn is_transient(error: &sqlx::Error) -> bool {
    sqlite_code(error).is_none_or(|code| TRANSIENT_CODES.contains(&code))
}

/// True if the connection may be broken. A busy or full database does not count.
pub(crate) fn is_connection_error(error: &sqlx::Error) -> bool {
    sqlite_code(error).is_none_or(|code| !matches!(code, 5 | 6 | 13))
}

/// Maps the error of a connection that could not be opened.
pub(crate) fn open_error(path: &Path, error: sqlx::Error) -> StoreError {
    match sqlite_code(&error) {
        // SQLITE_NOTADB: the header looked valid, but the rest is not.
        Some(26) => StoreError::NotADatabase { path: path.to_owned() },
        _ => StoreError::Database { doing: "opening", source: error },
    }
}
