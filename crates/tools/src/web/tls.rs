//! Whom requests trust, found out when it first matters.

use std::fmt;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Makes the TLS settings, when the first request needs them: reading the computer's authorities takes time and
/// memory that a gateway whose tools ask nobody need not spend.
#[derive(Clone)]
pub struct TlsConfigFactory(Arc<dyn Fn() -> Result<ClientConfig, String> + Send + Sync>);

impl TlsConfigFactory {
    /// Of a function that says what is wrong where it can't.
    #[must_use]
    pub fn new(make: impl Fn() -> Result<ClientConfig, String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Makes them. May block for some milliseconds.
    ///
    /// # Errors
    /// What is wrong, in words.
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

/// For plain http: without any settings, the library looks for a provider that isn't there.
///
/// # Errors
/// What is wrong, in words.
pub fn empty_tls_config() -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let settings = settings.map_err(|error| error.to_string())?;
    Ok(settings.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
