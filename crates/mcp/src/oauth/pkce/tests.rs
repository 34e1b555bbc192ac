use super::*;

/// RFC 7636, appendix B.
#[test]
fn the_challenge_is_that_of_the_specification() {
    let proof = PkceVerifier { verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned().into() };
    assert_eq!(proof.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
}

/// RFC 7636, section 4.1: 43 to 128 characters that need no escaping.
#[test]
fn verifiers_are_long_enough_and_never_the_same() {
    let (one, other) = (PkceVerifier::new().unwrap(), PkceVerifier::new().unwrap());
    let text = one.verifier.expose_secret();
    assert_eq!(text.len(), 43);
    assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
    assert_ne!(text, other.verifier.expose_secret());
}
