use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

use super::*;

const URL: &str = "https://mcp.example.com/mcp?a=b#c";

/// Header and claims of a proof whose signature is right.
fn read(proof: &HeaderValue) -> (Value, Value) {
    let (signed, signature) = proof.to_str().unwrap().rsplit_once('.').unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
    let header: Value = serde_json::from_slice(&decode(header)).unwrap();
    let part = |name: &str| decode(header["jwk"][name].as_str().unwrap());
    let point = [vec![4], part("x"), part("y")].concat();
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    key.verify(signed.as_bytes(), &decode(signature)).unwrap();
    (header, serde_json::from_slice(&decode(claims)).unwrap())
}

/// RFC 9449, sections 4.2 and 7.1, with the token and the hash of its figure 13.
#[test]
fn a_proof_names_the_request_and_the_token() {
    let binding = DpopBinding::generate().unwrap();
    let token = SecretString::from("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU".to_owned());
    let url = Url::parse(URL).unwrap();
    let proof = |token| {
        binding.proof(NonceSource::ResourceServer, &Method::POST, &url, 1_562_262_618_500, token).unwrap()
    };
    let (header, claims) = read(&proof(Some(&token)));
    assert_eq!((header["typ"].as_str(), header["alg"].as_str()), (Some("dpop+jwt"), Some("ES256")));
    assert_eq!(header["jwk"].as_object().unwrap().keys().collect::<Vec<_>>(), ["crv", "kty", "x", "y"]);
    assert_eq!(claims["htm"], "POST");
    assert_eq!(claims["htu"], "https://mcp.example.com/mcp");
    assert_eq!(claims["iat"], 1_562_262_618);
    assert_eq!(claims["ath"], "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
    assert_eq!(claims.get("nonce"), None);
    let (_, second) = read(&proof(None));
    assert_ne!(second["jti"], claims["jti"]);
    assert_eq!(second.get("ath"), None);
}

#[test]
fn each_server_has_a_nonce_of_its_own() {
    let binding = DpopBinding::generate().unwrap();
    let url = Url::parse(URL).unwrap();
    let headers = |nonce: &str| HeaderMap::from_iter([(NONCE, HeaderValue::from_str(nonce).unwrap())]);
    let sent =
        |source| read(&binding.proof(source, &Method::GET, &url, 0, None).unwrap()).1.get("nonce").cloned();
    assert!(binding.remember_nonce(NonceSource::AuthorizationServer, &headers("one")));
    assert!(!binding.remember_nonce(NonceSource::AuthorizationServer, &headers("one")));
    assert!(!binding.remember_nonce(NonceSource::ResourceServer, &headers("")));
    assert!(!binding.remember_nonce(NonceSource::ResourceServer, &headers(&"x".repeat(2000))));
    assert_eq!(
        (sent(NonceSource::AuthorizationServer), sent(NonceSource::ResourceServer)),
        (Some("one".into()), None)
    );
    assert!(binding.remember_nonce(NonceSource::ResourceServer, &headers("two")));
    assert_eq!(sent(NonceSource::ResourceServer), Some("two".into()));
}

#[test]
fn a_stored_key_is_read_again_and_not_shown() {
    let binding = DpopBinding::generate().unwrap();
    let again = DpopBinding::parse(binding.text()).unwrap();
    assert_eq!(again.public, binding.public);
    assert_eq!(format!("{binding:?}"), "DpopBinding { .. }");
    assert!(DpopBinding::parse(&"AAAA".to_owned().into()).is_none());
}
