//! Certificate verification by key only. The handshake's signature is still verified, so the peer must hold
//! the private key.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use toolway_wire::pairing::{KeyPin, KeyPrefix};

/// Error for a gateway with an unexpected key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gateway's key is {found}, but {expected} is expected")]
pub struct KeyMismatch {
    /// Expected key: a whole pin, or its start as shown in a pairing code.
    pub expected: String,
    /// Key of the gateway.
    pub found: KeyPin,
}

impl KeyMismatch {
    /// Finds a key mismatch in a handshake error.
    pub(crate) fn find_in(error: &rustls::Error) -> Option<&Self> {
        match error {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other))) => {
                other.downcast_ref()
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
enum ExpectedKey {
    Pin(KeyPin),
    Prefix(KeyPrefix),
}

/// Verifies only the key.
#[derive(Debug)]
pub(crate) struct KeyVerifier {
    expected: ExpectedKey,
    algorithms: WebPkiSupportedAlgorithms,
}

impl KeyVerifier {
    pub(crate) fn for_pin(pin: KeyPin, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { expected: ExpectedKey::Pin(pin), algorithms }
    }

    pub(crate) fn for_prefix(prefix: KeyPrefix, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self { expected: ExpectedKey::Prefix(prefix), algorithms }
    }
}

impl ServerCertVerifier for KeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let found = super::pin_of(end_entity)?;
        let (fits, expected) = match &self.expected {
            ExpectedKey::Pin(pin) => (*pin == found, pin.to_string()),
            ExpectedKey::Prefix(prefix) => (prefix.matches(&found), prefix.to_string()),
        };
        if fits {
            return Ok(ServerCertVerified::assertion());
        }
        let mismatch = std::sync::Arc::new(KeyMismatch { expected, found });
        Err(rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(mismatch))))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
