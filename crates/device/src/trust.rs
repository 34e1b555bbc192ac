//! Verification of the gateway over TLS: by the key from pairing, or by its name and a certificate from a
//! known authority.

mod verifier;

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use sha2::{Digest, Sha256};
use toolway_wire::pairing::{KeyPin, KeyPrefix};

pub use verifier::KeyMismatch;
use verifier::KeyVerifier;

/// Criterion that makes a gateway trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayTrust {
    /// The gateway must have this key. The name and dates of its certificate do not matter.
    Key(KeyPin),
    /// The gateway's key must start with these bits. Only for pairing, when no more is known.
    KeyPrefix(KeyPrefix),
    /// The certificate must be valid for the gateway's name and come from an authority known to this
    /// computer, or from one of these (PEM, may be empty).
    Authorities(Vec<u8>),
}

impl Default for GatewayTrust {
    fn default() -> Self {
        Self::Authorities(Vec::new())
    }
}

impl GatewayTrust {
    /// Converts settings: a key if one is stored, otherwise the authorities.
    #[must_use]
    pub fn from_settings(key: Option<KeyPin>, authorities: &[u8]) -> Self {
        key.map_or_else(|| Self::Authorities(authorities.to_vec()), Self::Key)
    }
}

/// Reason why the TLS configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadGatewayTrust {
    /// The additional authorities cannot be parsed.
    #[error("cannot read the file of certificate authorities: {0}")]
    Pem(String),
    /// The file contains no certificate.
    #[error("the file of certificate authorities contains no certificate")]
    EmptyPem,
    /// This computer has no certificate authorities, and none were given.
    #[error("this computer has no certificate authorities{0}")]
    NoAuthorities(String),
    /// rustls refused the configuration.
    #[error("cannot configure TLS")]
    Rustls(#[from] rustls::Error),
}

/// Creates the TLS configuration, for the SDK's own sockets and for other clients of the gateway. Reads the
/// computer's certificate store, so it may block for some milliseconds.
///
/// # Errors
/// [`BadGatewayTrust`] if the authorities cannot be read.
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

/// Computes the pin of a certificate's key.
///
/// # Errors
/// Fails if the certificate cannot be parsed.
pub fn pin_of(certificate: &CertificateDer<'_>) -> Result<KeyPin, rustls::Error> {
    let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
    Ok(KeyPin::from_bytes(Sha256::digest(parsed.subject_public_key_info()).into()))
}
