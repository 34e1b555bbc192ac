//! The store of credentials: one opaque text per server.

mod file;
mod key;

use secrecy::SecretString;
use toolway_types::Slug;

pub use file::FileTokenStore;
pub use key::{StoreKey, StoreKeyFile, StoreKeySource};

/// The reason why tokens can't be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum TokenStoreError {
    /// A file or a folder can't be accessed.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is truncated, modified, copied from another server, or encrypted with another key.
    #[error("{path} can't be read with this key; a new login replaces it")]
    Sealed {
        /// Its path.
        path: String,
    },
    /// The key is missing or invalid.
    #[error("the key of the stored tokens: {0}")]
    Key(String),
}

/// Stores credentials. Its functions may block for as long as a small file or a keyring takes.
pub trait TokenStore: Send + Sync + 'static {
    /// Loads the text of this server.
    ///
    /// # Errors
    /// [`TokenStoreError`].
    fn load(&self, server: &Slug) -> Result<Option<SecretString>, TokenStoreError>;

    /// Stores the text of this server and replaces an earlier one.
    ///
    /// # Errors
    /// [`TokenStoreError`]; the earlier text is then unchanged.
    fn save(&self, server: &Slug, text: &SecretString) -> Result<(), TokenStoreError>;

    /// Removes the text of this server. Returns false if there was none.
    ///
    /// # Errors
    /// [`TokenStoreError`].
    fn remove(&self, server: &Slug) -> Result<bool, TokenStoreError>;
}

#[cfg(test)]
mod tests;
