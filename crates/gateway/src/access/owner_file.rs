//! The file `owner.token`. Whoever can read it is the gateway's owner.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::error::AccessError;
use super::secret::looks_like_token;
use toolway_files::private_file;

/// Name of the file in the data folder.
pub const OWNER_TOKEN_FILE: &str = "owner.token";

/// The file in one data folder.
#[derive(Debug, Clone)]
pub(super) struct OwnerTokenFile(Arc<PathBuf>);

impl OwnerTokenFile {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self(Arc::new(folder.join(OWNER_TOKEN_FILE)))
    }

    /// Reads the token, or returns `None` if the file does not exist. A file with other content is an error
    /// and is not overwritten: somebody may have tried to put a token there.
    pub(super) async fn read(&self) -> Result<Option<SecretString>, AccessError> {
        let text = match tokio::fs::read_to_string(&*self.0).await {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.error(error)),
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if !looks_like_token(text) {
            let words = "it contains no token; remove the file and restart the gateway to get a new one";
            return Err(self.error(io::Error::new(io::ErrorKind::InvalidData, words)));
        }
        Ok(Some(SecretString::from(text)))
    }

    /// Replaces the content atomically.
    pub(super) async fn write(&self, token: &SecretString) -> Result<(), AccessError> {
        let path = Arc::clone(&self.0);
        let text = SecretString::from(format!("{}\n", token.expose_secret()));
        let written =
            tokio::task::spawn_blocking(move || private_file::write(&path, text.expose_secret().as_bytes()));
        written.await.map_err(io::Error::other).flatten().map_err(|error| self.error(error))
    }

    fn error(&self, source: io::Error) -> AccessError {
        AccessError::OwnerFile { path: self.0.display().to_string(), source }
    }
}
