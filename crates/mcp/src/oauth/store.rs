//! Where what came of logins is kept: one text a server, opaque to whoever keeps it.

mod file;
mod key;

use secrecy::SecretString;
use toolway_types::Slug;

pub use file::FileTokenStore;
pub use key::{StoreKey, StoreKeyFile, StoreKeySource};

/// Why tokens can't be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum TokenStoreError {
    /// A file or a folder.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// What happened.
        source: std::io::Error,
    },
    /// A file that is not what it should be: cut, changed, moved from another server, or written with another key.
    #[error("{path} can't be read with this key; a new login replaces it")]
    Sealed {
        /// Its path.
        path: String,
    },
    /// The key.
    #[error("the key of the stored tokens: {0}")]
    Key(String),
}

/// Keeps what came of logins. Its functions may block for as long as a small file or a keyring takes.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept of this server.
    ///
    /// # Errors
    /// [`TokenStoreError`].
    fn load(&self, server: &Slug) -> Result<Option<SecretString>, TokenStoreError>;

    /// Keeps this of it, in place of what was kept before.
    ///
    /// # Errors
    /// [`TokenStoreError`]; then what was kept before still is.
    fn save(&self, server: &Slug, text: &SecretString) -> Result<(), TokenStoreError>;

    /// Forgets it. Gives whether there was anything.
    ///
    /// # Errors
    /// [`TokenStoreError`].
    fn remove(&self, server: &Slug) -> Result<bool, TokenStoreError>;
}

#[cfg(test)]
mod tests;
