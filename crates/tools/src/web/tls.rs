//! TLS settings of the client, created on first use.

use std::fmt;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Creates the TLS settings at the first request, because loading the system's certificate authorities takes
/// time and memory that a gateway without web requests need not spend.
#[derive(Clone)]
pub struct TlsConfigFactory(Arc<dyn Fn() -> Result<ClientConfig, String> + Send + Sync>);

impl TlsConfigFactory {
    /// Creates a factory from a function, which returns a description of the problem if it fails.
    #[must_use]
    pub fn new(make: impl Fn() -> Result<ClientConfig, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Creates the settings. May block for some milliseconds.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn make(&self) -> Result<ClientConfig, String> {
        (self.0)()
    }
}

impl From<ClientConfig> for TlsConfigFactory {
    fn from(tls: ClientConfig) -> Self {
        Self::new(move || Ok(tls.clone()))
    }
}

impl fmt::Debug for TlsConfigFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsMaker")
    }
}

/// Empty settings for plain http. Without any settings the library looks for a crypto provider that is not
/// installed.
///
/// # Errors
/// A description of the problem.
pub fn empty_tls_config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
