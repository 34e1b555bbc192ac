use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, KeyPair as _, UnparsedPublicKey};
use serde_json::json;

use super::*;

fn pem(label: &str, der: &[u8]) -> SecretString {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der)).into()
}

/// RFC 8037, appendices A.1 and A.4: the key, without its public half as OpenSSL writes it, and its signature.
#[test]
fn an_ed25519_key_signs_as_in_the_specification() {
    let seed = URL_SAFE_NO_PAD.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let key = SigningKey::from_pem(&pem("PRIVATE KEY", &[&head[..], &seed].concat())).unwrap();
    assert_eq!(key.algorithm(), "EdDSA");
    let signed = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    assert_eq!(
        URL_SAFE_NO_PAD.encode(key.sign(signed).unwrap()),
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
}

#[test]
fn a_token_is_signed_with_the_curve_of_the_key() {
    let random = SystemRandom::new();
    for (signing, verifying, name) in [
        (&ECDSA_P256_SHA256_FIXED_SIGNING, &ECDSA_P256_SHA256_FIXED, "ES256"),
        (&ECDSA_P384_SHA384_FIXED_SIGNING, &ECDSA_P384_SHA384_FIXED, "ES384"),
    ] {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
        let public = EcdsaKeyPair::from_pkcs8(signing, pkcs8.as_ref(), &random).unwrap();
        let key = SigningKey::from_pem(&pem("PRIVATE KEY", pkcs8.as_ref())).unwrap();
        assert_eq!(key.algorithm(), name);
        let token = key.sign_token(&json!({ "alg": name }), &json!({ "iss": "me" })).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        UnparsedPublicKey::new(verifying, public.public_key()).verify(signed.as_bytes(), &signature).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        assert_eq!(claims, br#"{"iss":"me"}"#);
    }
}

#[test]
fn what_is_no_usable_key_is_refused_without_being_shown() {
    for (text, said) in [
        ("s3cret".into(), "BEGIN PRIVATE KEY"),
        (pem("CERTIFICATE", b"s3cret"), "BEGIN PRIVATE KEY"),
        (pem("PRIVATE KEY", b"s3cret"), "EC key"),
        (pem("RSA PRIVATE KEY", b"s3cret"), "RSA key"),
        (pem("EC PRIVATE KEY", b"s3cret"), "openssl pkcs8 -topk8 -nocrypt"),
        (pem("PRIVATE KEY", &[b'x'; 40_000]), "32 KiB"),
    ] {
        let error = SigningKey::from_pem(&text).err().unwrap().to_string();
        assert!(error.contains(said), "{error}");
        assert!(!error.contains("s3cret") && !error.contains("czNjcmV0"), "{error}");
    }
}
