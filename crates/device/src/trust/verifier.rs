//! Accepts a certificate for its key alone. The handshake's own signature is still verified, so the peer
//! must hold the private key.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, SignatureScheme};
use toolway_wire::pairing::{KeyPin, KeyPrefix};

/// The gateway has another key than the one that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gateway's key is {found}, not {expected} as it should be")]
pub struct KeyMismatch {
    /// What was expected: a whole pin, or its start as a pairing code shows it.
    pub expected: String,
    /// What the gateway has.
    pub found: KeyPin,
}

impl KeyMismatch {
    /// The mismatch that made a handshake fail, where it was one.
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

/// Checks the key alone.
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
