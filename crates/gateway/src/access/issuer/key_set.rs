//! The public keys of an issuer (RFC 7517, RFC 7518, RFC 8037) with a supported algorithm.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::claims::{JwsAlgorithm, UnverifiedJwt};

/// Maximum number of keys that are read from one issuer.
const MAX_KEYS: usize = 64;
/// Maximum number of keys that are tried for a token without a key id.
const MAX_KEYS_TRIED: usize = 4;

#[derive(Debug)]
enum PublicKeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Uncompressed point (SEC 1, section 2.3.3).
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    algorithm: JwsAlgorithm,
    material: PublicKeyMaterial,
}

/// The keys of one document.
#[derive(Debug, Default)]
pub(super) struct JwkSet {
    keys: Vec<VerificationKey>,
    /// Number of changes of the key set so far.
    pub(super) edition: u64,
    /// Hash of the document.
    hash: [u8; 32],
}

#[derive(Deserialize)]
struct JwkSetDocument {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    alg: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    key_ops: Option<Vec<String>>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

impl JwkSet {
    /// Parses a document and omits unsupported keys. Returns `before` if the document has not changed.
    ///
    /// # Errors
    /// A description of the problem if the document is not a key set or has no supported key.
    pub(super) fn read(document: &[u8], before: Option<&Arc<Self>>) -> Result<Arc<Self>, &'static str> {
        let hash = Sha256::digest(document).into();
        if let Some(same) = before.filter(|it| it.hash == hash) {
            return Ok(Arc::clone(same));
        }
        let document: JwkSetDocument = serde_json::from_slice(document).map_err(|_| "it is not a key set")?;
        let jwks = document.keys.into_iter().take(MAX_KEYS).filter_map(|it| serde_json::from_value(it).ok());
        let keys: Vec<VerificationKey> = jwks.filter_map(VerificationKey::of).collect();
        if keys.is_empty() {
            return Err("none of its keys is supported; use RS256, ES256 or EdDSA (Ed25519)");
        }
        Ok(Arc::new(Self { keys, edition: before.map_or(1, |it| it.edition + 1), hash }))
    }

    /// Returns true if a key has this id.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id.as_deref() == Some(id))
    }

    /// Verifies the token's signature with the key that it names, or with every key of the algorithm if it
    /// names none.
    pub(super) fn verify(&self, token: &UnverifiedJwt<'_>) -> bool {
        let fits = |key: &&VerificationKey| {
            key.algorithm == token.algorithm && (token.key_id.is_none() || key.id == token.key_id)
        };
        self.keys
            .iter()
            .filter(fits)
            .take(MAX_KEYS_TRIED)
            .any(|key| key.verify(token.signed, &token.signature))
    }
}

impl VerificationKey {
    fn of(jwk: Jwk) -> Option<Self> {
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?.trim_end_matches('=')).ok();
        let (algorithm, material) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
            ("RSA", _) => {
                let whole = |bytes: Vec<u8>| bytes.into_iter().skip_while(|byte| *byte == 0).collect();
                (
                    JwsAlgorithm::Rs256,
                    PublicKeyMaterial::Rsa { n: whole(bytes(jwk.n)?), e: whole(bytes(jwk.e)?) },
                )
            }
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(jwk.x)?, bytes(jwk.y)?);
                if x.len() != 32 || y.len() != 32 {
                    return None;
                }
                (JwsAlgorithm::Es256, PublicKeyMaterial::P256([&[4], x.as_slice(), &y].concat()))
            }
            ("OKP", Some("Ed25519")) => (JwsAlgorithm::EdDsa, PublicKeyMaterial::Ed25519(bytes(jwk.x)?)),
            _ => return None,
        };
        let for_this = jwk.alg.as_deref().is_none_or(|it| JwsAlgorithm::from_name(it) == Some(algorithm))
            && jwk.purpose.as_deref().is_none_or(|it| it == "sig")
            && jwk.key_ops.is_none_or(|ops| ops.iter().any(|it| it == "verify"));
        for_this.then_some(Self { id: jwk.kid, algorithm, material })
    }

    fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            PublicKeyMaterial::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
            }
            PublicKeyMaterial::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            PublicKeyMaterial::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature)
            }
        };
        verified.is_ok()
    }
}
