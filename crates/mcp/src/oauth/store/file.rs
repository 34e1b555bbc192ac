//! A store of tokens in files: one file per server, mode 0600, encrypted (ChaCha20-Poly1305, RFC 8439). With the key
//! in a keyring, a copy of the data folder reveals nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::{ExposeSecret as _, SecretString};
use toolway_files::{bounded_read, private_file};
use toolway_types::Slug;

use super::{StoreKey, StoreKeySource, TokenStore, TokenStoreError};

/// The first byte of a file: the version of the format. A nonce, the ciphertext and its tag follow.
const FORMAT_VERSION: u8 = 1;
/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 256 << 10;

/// A store of tokens in a folder.
pub struct FileTokenStore {
    folder: PathBuf,
    key: Arc<dyn StoreKeySource>,
}

impl std::fmt::Debug for FileTokenStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileTokenStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl FileTokenStore {
    /// Creates a store in this folder. The folder is created by the first save.
    #[must_use]
    pub fn new(folder: PathBuf, key: Arc<dyn StoreKeySource>) -> Self {
        Self { folder, key }
    }

    /// Creates a store in this folder, with the key in a file there.
    #[must_use]
    pub fn with_key_file(folder: PathBuf) -> Self {
        // Slugs contain no dot, so no server's file has this name.
        let key = Arc::new(super::StoreKeyFile::new(folder.join("store.key")));
        Self::new(folder, key)
    }

    fn path(&self, server: &Slug) -> PathBuf {
        self.folder.join(server.as_str())
    }
}

impl TokenStore for FileTokenStore {
    fn load(&self, server: &Slug) -> Result<Option<SecretString>, TokenStoreError> {
        let path = self.path(server);
        let Some(sealed) =
            bounded_read::read(&path, MAX_FILE).map_err(|error| failed(&path, error.into()))?
        else {
            return Ok(None);
        };
        let key = self.key.load()?.ok_or_else(|| unreadable(&path))?;
        open(&key, server, sealed).map(Some).ok_or_else(|| unreadable(&path))
    }

    fn save(&self, server: &Slug, text: &SecretString) -> Result<(), TokenStoreError> {
        private_file::create_folder(&self.folder).map_err(|error| failed(&self.folder, error))?;
        let key = self.key.load_or_create()?;
        let sealed = seal(&key, server, text.expose_secret().as_bytes())?;
        let path = self.path(server);
        private_file::write(&path, &sealed).map_err(|error| failed(&path, error))
    }

    fn remove(&self, server: &Slug) -> Result<bool, TokenStoreError> {
        let path = self.path(server);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(&path, error)),
        }
    }
}

fn failed(path: &Path, source: io::Error) -> TokenStoreError {
    TokenStoreError::File { path: path.display().to_string(), source }
}

fn unreadable(path: &Path) -> TokenStoreError {
    TokenStoreError::Sealed { path: path.display().to_string() }
}

/// The server is authenticated as well, so a file of one server can't be used for another.
fn aad(server: &Slug) -> Aad<Vec<u8>> {
    Aad::from([b"toolway mcp tokens 1\0", server.as_str().as_bytes()].concat())
}

fn cipher(key: &StoreKey) -> Option<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, key.0.expose_secret()).ok().map(LessSafeKey::new)
}

fn seal(key: &StoreKey, server: &Slug, text: &[u8]) -> Result<Vec<u8>, TokenStoreError> {
    let wrong = || TokenStoreError::Key("it can't be used for encryption".to_owned());
    // A random nonce is safe, because one key encrypts far too few texts for a collision.
    let mut nonce = [0u8; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).map_err(|_| wrong())?;
    let mut within = text.to_vec();
    let cipher = cipher(key).ok_or_else(wrong)?;
    cipher
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad(server), &mut within)
        .map_err(|_| wrong())?;
    Ok([&[FORMAT_VERSION], nonce.as_slice(), &within].concat())
}

fn open(key: &StoreKey, server: &Slug, sealed: Vec<u8>) -> Option<SecretString> {
    let (form, rest) = sealed.split_first()?;
    let (nonce, within) = rest.split_at_checked(NONCE_LEN)?;
    if *form != FORMAT_VERSION {
        return None;
    }
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut within = within.to_vec();
    let text = cipher(key)?.open_in_place(nonce, aad(server), &mut within).ok()?;
    std::str::from_utf8(text).ok().map(|text| SecretString::from(text.to_owned()))
}
