//! How a gateway proves over TLS that it is the one that was meant: by the key it was paired with, or by its
//! name and a certificate that a known authority vouches for.

mod verifier;

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};
use toolway_wire::pairing::{KeyPin, KeyPrefix};

pub use verifier::KeyMismatch;
use verifier::KeyVerifier;

/// What makes a gateway trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayTrust {
    /// It has this key; its name and the dates of its certificate do not matter.
    Key(KeyPin),
    /// Its key starts with these bits. For pairing alone, where no more is known.
    KeyPrefix(KeyPrefix),
    /// Its certificate is valid for its name and comes from an authority that this computer knows, or from
    /// one of these (PEM, may be empty).
    Authorities(Vec<u8>),
}

impl Default for GatewayTrust {
    fn default() -> Self {
        Self::Authorities(Vec::new())
    }
}

impl GatewayTrust {
    /// What the words of the settings mean: a key where one was kept, else the authorities.
    #[must_use]
    pub fn from_settings(key: Option<KeyPin>, authorities: &[u8]) -> Self {
        key.map_or_else(|| Self::Authorities(authorities.to_vec()), Self::Key)
    }
}

/// Why no TLS settings could be made.
#[derive(Debug, thiserror::Error)]
pub enum BadGatewayTrust {
    /// The extra authorities can't be read.
    #[error("the file of certificate authorities can't be read: {0}")]
    Pem(String),
    /// Nothing in it.
    #[error("the file of certificate authorities holds no certificate")]
    EmptyPem,
    /// This computer knows no authority, and none was given.
    #[error("this computer knows no certificate authority{0}")]
    NoAuthorities(String),
    /// rustls refused the settings.
    #[error("TLS can't be set up")]
    Rustls(#[from] rustls::Error),
}

/// TLS settings that trust as said: for the SDK's own sockets, and for any other client of the gateway.
/// Reads the computer's certificate store, so it may block for some milliseconds.
///
/// # Errors
/// [`BadTrust`] where the authorities can't be read.
pub fn rustls_config(trust: &GatewayTrust) -> Result<ClientConfig, BadGatewayTrust> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    let algorithms = provider.signature_verification_algorithms;
    Ok(match trust {
        GatewayTrust::Authorities(extra) => {
            config.with_root_certificates(authorities(extra)?).with_no_client_auth()
        }
        GatewayTrust::Key(pin) => with_verifier(config, KeyVerifier::for_pin(*pin, algorithms)),
        GatewayTrust::KeyPrefix(prefix) => {
            with_verifier(config, KeyVerifier::for_prefix(*prefix, algorithms))
        }
    })
}

fn with_verifier(
    config: rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>,
    verifier: KeyVerifier,
) -> ClientConfig {
    config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
}

fn authorities(extra: &[u8]) -> Result<RootCertStore, BadGatewayTrust> {
    let mut roots = RootCertStore::empty();
    let known = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(known.certs);
    if !extra.is_empty() {
        let given: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(extra)
            .collect::<Result<_, _>>()
            .map_err(|error| BadGatewayTrust::Pem(error.to_string()))?;
        if given.is_empty() {
            return Err(BadGatewayTrust::EmptyPem);
        }
        for certificate in given {
            roots.add(certificate).map_err(|error| BadGatewayTrust::Pem(error.to_string()))?;
        }
    }
    if roots.is_empty() {
        let why = known.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(BadGatewayTrust::NoAuthorities(why));
    }
    Ok(roots)
}

/// The pin of a certificate's key.
///
/// # Errors
/// Where the certificate can't be read.
pub fn pin_of(certificate: &CertificateDer<'_>) -> Result<KeyPin, rustls::Error> {
    let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
    Ok(KeyPin::from_bytes(Sha256::digest(parsed.subject_public_key_info()).into()))
}
