//! TLS. One certificate is served at a time: the gateway's own ([`own_certificate`]), or the owner's from
//! files that are reloaded after changes. If new files are invalid, the previous certificate stays in use.

mod own_certificate;
mod pem;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use toolway_wire::pairing::KeyPin;

use crate::settings::TlsSettings;

/// Interval between checks of the owner's files.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Reason why TLS can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A file has invalid content.
    #[error("{path}: {problem}")]
    Content {
        /// Path of the file.
        path: String,
        /// The problem.
        problem: String,
    },
    /// The gateway's own certificate can't be created.
    #[error("the gateway's certificate could not be made: {0}")]
    Make(String),
    /// The TLS library reported an error.
    #[error("TLS: {0}")]
    Library(#[from] rustls::Error),
}

impl TlsError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File { path, source }
    }

    fn content(path: &Path, problem: impl Into<String>) -> Self {
        Self::Content { path: path.display().to_string(), problem: problem.into() }
    }
}

/// A certificate with its key, ready to be served.
#[derive(Debug, Clone)]
pub(crate) struct TlsIdentity {
    pub(crate) certified: Arc<CertifiedKey>,
    pub(crate) pin: KeyPin,
}

/// TLS of one listener.
pub struct ListenerTls {
    current: Arc<CurrentCertificate>,
    acceptor: TlsAcceptor,
    origin: CertificateOrigin,
    /// Reason why the current files are not served.
    reload_error: Mutex<Option<String>>,
}

enum CertificateOrigin {
    Own,
    Files {
        cert: PathBuf,
        key: PathBuf,
        /// Hash of the last files, valid or not.
        seen: Mutex<[u8; 32]>,
    },
}

impl fmt::Debug for ListenerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerTls").field("pin", &self.served_pin()).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct CurrentCertificate(ArcSwap<TlsIdentity>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.load().certified))
    }
}

impl ListenerTls {
    /// Loads the owner's certificate if the settings have one. Otherwise loads the gateway's own from the
    /// folder `tls` of the data folder, and creates it for these names if it does not exist.
    ///
    /// # Errors
    /// [`TlsError`] if a file can't be used. Existing files are never replaced.
    pub async fn open(settings: &TlsSettings, data_dir: &Path, names: Vec<String>) -> Result<Self, TlsError> {
        let (identity, origin) = match (&settings.cert, &settings.key) {
            (Some(cert), Some(key)) => {
                let (identity, hash) = read_files(cert, key).await;
                let seen = Mutex::new(hash);
                (identity?, CertificateOrigin::Files { cert: cert.clone(), key: key.clone(), seen })
            }
            _ => {
                let folder = data_dir.join("tls");
                let made = tokio::task::spawn_blocking(move || own_certificate::load_or_make(&folder, names));
                let identity = made.await.map_err(|error| TlsError::Make(error.to_string()))??;
                (identity, CertificateOrigin::Own)
            }
        };
        let current = Arc::new(CurrentCertificate(ArcSwap::from_pointee(identity)));
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            current,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            origin,
            reload_error: Mutex::new(None),
        })
    }

    /// Returns the acceptor of connections.
    #[must_use]
    pub fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Returns the key by which devices identify this gateway. Only its own certificate has one: the owner's
    /// may be renewed with another key and is identified by its name.
    #[must_use]
    pub fn own_pin(&self) -> Option<KeyPin> {
        match self.origin {
            CertificateOrigin::Own => Some(self.served_pin()),
            CertificateOrigin::Files { .. } => None,
        }
    }

    /// Returns the pin of the certificate that is served now.
    #[must_use]
    pub fn served_pin(&self) -> KeyPin {
        self.current.0.load().pin
    }

    /// Returns the reason why the owner's current files are not served.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.reload_error.lock().clone()
    }

    /// Reads the owner's files again. Returns true if the served certificate has changed.
    ///
    /// # Errors
    /// [`TlsError`] if they can't be used; the previous certificate stays in use.
    pub async fn reload(&self) -> Result<bool, TlsError> {
        let CertificateOrigin::Files { cert, key, seen } = &self.origin else { return Ok(false) };
        let (identity, hash) = read_files(cert, key).await;
        *seen.lock() = hash;
        match identity {
            Ok(identity) => {
                *self.reload_error.lock() = None;
                let changed = identity.certified.cert != self.current.0.load().certified.cert;
                self.current.0.store(Arc::new(identity));
                if changed {
                    tracing::info!(cert = %cert.display(), "serving the new certificate");
                }
                Ok(changed)
            }
            Err(error) => {
                *self.reload_error.lock() = Some(error.to_string());
                tracing::warn!(%error, "the new certificate is invalid; the previous one stays active");
                Err(error)
            }
        }
    }

    /// Reads the owner's files again after each change, until `stop`.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let CertificateOrigin::Files { cert, key, seen } = &self.origin else { return };
        while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
            let (_, hash) = read_files(cert, key).await;
            if *seen.lock() != hash {
                // `reload` logs and stores the error.
                let _ = self.reload().await;
            }
        }
    }
}

/// Reads the files, and returns a hash that changes with their content.
async fn read_files(cert: &Path, key: &Path) -> (Result<TlsIdentity, TlsError>, [u8; 32]) {
    let read = async |path: &Path| tokio::fs::read(path).await.map_err(TlsError::file(path));
    let (chain, secret) = (read(cert).await, read(key).await);
    let mut hash = Sha256::new();
    for content in [&chain, &secret] {
        match content {
            Ok(bytes) => hash.update(Sha256::digest(bytes)),
            Err(error) => hash.update(Sha256::digest(error.to_string())),
        }
    }
    let identity = chain.and_then(|chain| pem::load_identity((cert, &chain), (key, &secret?)));
    (identity, hash.finalize().into())
}

#[cfg(test)]
mod tests;
