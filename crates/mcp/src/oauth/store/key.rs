//! The encryption key of stored tokens, and a file for it where there is no keyring.

use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{ExposeSecret as _, SecretBox, SecretString};
use toolway_files::{bounded_read, private_file};

use super::TokenStoreError;

/// A key of 256 bits.
pub struct StoreKey(pub(super) SecretBox<[u8; 32]>);

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKey")
    }
}

impl StoreKey {
    /// Creates a random key.
    ///
    /// # Errors
    /// [`TokenStoreError::Key`] if the operating system provides no random numbers.
    pub fn random() -> Result<Self, TokenStoreError> {
        let mut bytes = Box::new([0u8; 32]);
        let filled = SystemRandom::new().fill(bytes.as_mut_slice());
        filled.map_err(|_| {
            TokenStoreError::Key("the operating system provides no random numbers".to_owned())
        })?;
        Ok(Self(SecretBox::new(bytes)))
    }

    /// The key as text, for a keyring or a file.
    #[must_use]
    pub fn to_text(&self) -> SecretString {
        STANDARD_NO_PAD.encode(self.0.expose_secret()).into()
    }

    /// Parses the text of [`StoreKey::to_text`].
    ///
    /// # Errors
    /// [`TokenStoreError::Key`] if the text is invalid.
    pub fn parse(text: &SecretString) -> Result<Self, TokenStoreError> {
        let decoded = STANDARD_NO_PAD.decode(text.expose_secret().trim()).ok();
        let bytes = decoded.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let bytes = bytes.ok_or_else(|| TokenStoreError::Key("it is not one".to_owned()))?;
        Ok(Self(SecretBox::new(Box::new(bytes))))
    }
}

/// Loads the key, and creates it on first use.
pub trait StoreKeySource: Send + Sync + 'static {
    /// Loads the key. Returns `None` if it does not exist yet.
    ///
    /// # Errors
    /// [`TokenStoreError`].
    fn load(&self) -> Result<Option<StoreKey>, TokenStoreError>;

    /// Loads the key, or creates it if it does not exist.
    ///
    /// # Errors
    /// [`TokenStoreError`].
    fn load_or_create(&self) -> Result<StoreKey, TokenStoreError>;
}

/// Size limit of a file with a key, in bytes.
const MAX_FILE: u64 = 1024;

/// A key in a file that only its owner can read.
#[derive(Debug)]
pub struct StoreKeyFile {
    path: PathBuf,
}

impl StoreKeyFile {
    /// Uses this file. Its folder must exist when a key is created.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn failed(&self, source: io::Error) -> TokenStoreError {
        TokenStoreError::File { path: self.path.display().to_string(), source }
    }
}

impl StoreKeySource for StoreKeyFile {
    fn load(&self) -> Result<Option<StoreKey>, TokenStoreError> {
        let text =
            bounded_read::read_text(&self.path, MAX_FILE).map_err(|error| self.failed(error.into()))?;
        text.map(|text| StoreKey::parse(&text.into())).transpose()
    }

    fn load_or_create(&self) -> Result<StoreKey, TokenStoreError> {
        if let Some(key) = self.load()? {
            return Ok(key);
        }
        let key = StoreKey::random()?;
        let text = key.to_text();
        let text = text.expose_secret().as_bytes();
        // Not replaced: if two programs make a key at once, the first one's counts.
        let made = match private_file::write_new(&self.path, text) {
            // Some file systems can't give a name only if it is free.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => private_file::write(&self.path, text),
            made => made,
        };
        match made {
            Ok(()) => Ok(key),
            Err(error) => match self.load()? {
                Some(key) => Ok(key),
                None => Err(self.failed(error)),
            },
        }
    }
}
