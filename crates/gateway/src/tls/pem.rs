//! Parses certificates and keys in PEM files.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use toolway_wire::pairing::KeyPin;

use super::{TlsError, TlsIdentity};

/// Parses a certificate chain and its key. Each comes with its path for error messages.
pub(super) fn load_identity(cert: (&Path, &[u8]), key: (&Path, &[u8])) -> Result<TlsIdentity, TlsError> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(cert.1).collect::<Result<_, _>>().map_err(|error| {
            TlsError::content(cert.0, format!("is not a PEM file with certificates ({error})"))
        })?;
    if chain.is_empty() {
        return Err(TlsError::content(cert.0, "has no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_slice(key.1)
        .map_err(|error| TlsError::content(key.0, format!("has no private key in PEM form ({error})")))?;
    let certified = CertifiedKey::from_der(chain, secret, &rustls::crypto::ring::default_provider())
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::content(key.0, format!("is not the key of the certificate in {}", cert.0.display()))
            }
            error => TlsError::content(cert.0, format!("can't be used with {} ({error})", key.0.display())),
        })?;
    let pin = pin_of(&certified).map_err(|error| TlsError::content(cert.0, error.to_string()))?;
    Ok(TlsIdentity { certified: Arc::new(certified), pin })
}

fn pin_of(certified: &CertifiedKey) -> Result<KeyPin, rustls::Error> {
    let certificate = ParsedCertificate::try_from(certified.end_entity_cert()?)?;
    let key_info = certificate.subject_public_key_info();
    Ok(KeyPin::from_bytes(Sha256::digest(&key_info).into()))
}
