//! Private keys of clients, and tokens that they sign (RFC 7515, RFC 7518, RFC 8037).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::error::OauthError;

/// Maximum length of a key file, in bytes.
const MAX_PEM: usize = 32 << 10;

/// A private key that signs tokens.
pub(super) enum SigningKey {
    Es256(EcdsaKeyPair),
    Es384(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl SigningKey {
    /// Parses a key in PEM: PKCS #8 with an elliptic-curve key (P-256, P-384), an Ed25519 or an RSA key, or PKCS #1.
    ///
    /// # Errors
    /// [`OauthError::Settings`]. The message contains nothing of the key.
    pub(super) fn from_pem(pem: &SecretString) -> Result<Self, OauthError> {
        let wrong = |why: &str| OauthError::Settings(format!("the private key can't be used: {why}"));
        let text = pem.expose_secret().trim().as_bytes();
        if text.len() > MAX_PEM {
            return Err(wrong("it is longer than 32 KiB"));
        }
        let der = PrivateKeyDer::from_pem_slice(text);
        match der.map_err(|_| wrong("it is not a private key in PEM (-----BEGIN PRIVATE KEY-----)"))? {
            PrivateKeyDer::Pkcs8(der) => Self::from_pkcs8(der.secret_pkcs8_der()).ok_or_else(|| {
                wrong("use an EC key (P-256 or P-384), an Ed25519 key, or an RSA key of 2048 to 4096 bits")
            }),
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der())
                .map(Self::Rs256)
                .map_err(|_| wrong("use an RSA key of 2048 to 4096 bits")),
            _ => Err(wrong("convert it with `openssl pkcs8 -topk8 -nocrypt`")),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let random = SystemRandom::new();
        let p256 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random).ok();
        let p384 = || EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, der, &random).ok();
        // OpenSSL writes Ed25519 keys without their public half.
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).ok();
        let rsa = || RsaKeyPair::from_pkcs8(der).ok();
        p256()
            .map(Self::Es256)
            .or_else(|| p384().map(Self::Es384))
            .or_else(|| ed25519().map(Self::EdDsa))
            .or_else(|| rsa().map(Self::Rs256))
    }

    /// The name of the signature algorithm.
    pub(super) fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Es384(_) => "ES384",
            Self::EdDsa(_) => "EdDSA",
            Self::Rs256(_) => "RS256",
        }
    }

    fn sign(&self, signed: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            Self::Es256(key) | Self::Es384(key) => Some(key.sign(&random, signed).ok()?.as_ref().to_vec()),
            Self::EdDsa(key) => Some(key.sign(signed).as_ref().to_vec()),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, signed, &mut signature).ok()?;
                Some(signature)
            }
        }
    }

    /// Signs a token in compact form.
    ///
    /// # Errors
    /// [`OauthError::NoRandomness`].
    pub(super) fn sign_token(&self, header: &Value, claims: &Value) -> Result<String, OauthError> {
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        let signature = self.sign(signed.as_bytes()).ok_or(OauthError::NoRandomness)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

#[cfg(test)]
mod tests;
