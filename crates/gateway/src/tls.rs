//! Encryption: one certificate is served at a time, the gateway's own ([`own`]) or the owner's from files
//! that are read again when they change. A new one that can't be used is refused, and the old one stays.

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

/// How often the owner's files are looked at.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Why nothing can be encrypted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// What happened.
        source: std::io::Error,
    },
    /// A file with something else in it than it should have.
    #[error("{path}: {problem}")]
    Content {
        /// Its path.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The gateway's own certificate could not be made.
    #[error("the gateway's certificate could not be made: {0}")]
    Make(String),
    /// The TLS library refused.
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

/// The encryption of one listener.
pub struct ListenerTls {
    current: Arc<CurrentCertificate>,
    acceptor: TlsAcceptor,
    origin: CertificateOrigin,
    /// Why the files as they are now are not served.
    reload_error: Mutex<Option<String>>,
}

enum CertificateOrigin {
    Own,
    Files {
        cert: PathBuf,
        key: PathBuf,
        /// Hash of what was last read, good or bad.
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
    /// Reads the owner's certificate, where the settings name one; else the gateway's own from the folder
    /// `tls` of the data folder, made there for these names if there is none yet.
    ///
    /// # Errors
    /// [`TlsError`]. What is there is never replaced.
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

    /// What encrypts a connection.
    #[must_use]
    pub fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// The key by which devices know this gateway: only of its own certificate, as the owner's may be renewed
    /// with another key and is known by its name.
    #[must_use]
    pub fn own_pin(&self) -> Option<KeyPin> {
        match self.origin {
            CertificateOrigin::Own => Some(self.served_pin()),
            CertificateOrigin::Files { .. } => None,
        }
    }

    /// The key that is served now, whosever it is.
    #[must_use]
    pub fn served_pin(&self) -> KeyPin {
        self.current.0.load().pin
    }

    /// Why the owner's files, as they are now, are not what is served.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.reload_error.lock().clone()
    }

    /// Reads the owner's files again. Says whether something else is served from now on.
    ///
    /// # Errors
    /// [`TlsError`] where they can't be used; what was served before is served still.
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
                tracing::warn!(%error, "the new certificate can't be used; serving the one before");
                Err(error)
            }
        }
    }

    /// Reads the owner's files again whenever they have changed, until told to stop.
    pub async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let CertificateOrigin::Files { cert, key, seen } = &self.origin else { return };
        while tokio::time::timeout(POLL_INTERVAL, stop.cancelled()).await.is_err() {
            let (_, hash) = read_files(cert, key).await;
            if *seen.lock() != hash {
                // What is wrong with them has been said and noted.
                let _ = self.reload().await;
            }
        }
    }
}

/// What is in the files, and a hash of it that changes with it.
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
