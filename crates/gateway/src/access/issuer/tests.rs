//! Tests tokens with real signatures, keys from a loopback server, and every reason for a rejection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
};
use serde_json::{Value, json};

use super::*;
use crate::testing::ManualClock;

const NOW_S: i64 = 1_800_000_000;
const AUDIENCE: &str = "https://tools.example.org/mcp";

/// A signing key of one kind.
enum JwtSigner {
    Rsa(Box<rsa::KeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

fn url64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl JwtSigner {
    /// Returns the only fixed key, created for these tests because `ring` can't create RSA keys.
    fn rsa() -> Self {
        let text: String = include_str!("tests/rsa.base64").split_whitespace().collect();
        Self::Rsa(Box::new(rsa::KeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()))
    }

    fn ec() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random);
        Self::Ec(pair.unwrap())
    }

    fn ed() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::Ec(_) => "ES256",
            Self::Ed(_) => "EdDSA",
        }
    }

    fn jwk(&self, id: &str) -> Value {
        let mut key = match self {
            Self::Rsa(pair) => {
                let public = rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "n": url64(public.n), "e": url64(public.e) })
            }
            Self::Ec(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": url64(&point[1..33]), "y": url64(&point[33..]) })
            }
            Self::Ed(pair) => json!({ "kty": "OKP", "crv": "Ed25519", "x": url64(pair.public_key()) }),
        };
        key["kid"] = id.into();
        key["use"] = "sig".into();
        key
    }

    fn sign_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).unwrap();
                signature
            }
            Self::Ec(pair) => pair.sign(&random, bytes).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(bytes).as_ref().to_vec(),
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", url64(header.to_string()), url64(claims.to_string()));
        let signature = self.sign_bytes(signed.as_bytes());
        format!("{signed}.{}", url64(signature))
    }

    fn header(&self, id: &str) -> Value {
        json!({ "alg": self.algorithm(), "kid": id, "typ": "at+jwt" })
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        self.sign(&self.header(id), claims)
    }
}

/// An issuer on a loopback port.
struct FakeIssuer {
    url: String,
    keys: Arc<Mutex<(StatusCode, Value)>>,
    fetched: Arc<AtomicUsize>,
}

impl FakeIssuer {
    async fn start(keys: Value) -> Self {
        let keys = Arc::new(Mutex::new((StatusCode::OK, json!({ "keys": keys }))));
        let fetched = Arc::new(AtomicUsize::new(0));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (given, counted, issuer) = (Arc::clone(&keys), Arc::clone(&fetched), url.clone());
        let router = Router::new()
            .route(
                "/keys",
                get(move || {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let (status, keys) = given.lock().clone();
                    async move { (status, keys.to_string()).into_response() }
                }),
            )
            .route(
                "/.well-known/openid-configuration",
                get(move || {
                    let document = json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") });
                    async move { document.to_string() }
                }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, keys, fetched }
    }

    fn claims(&self) -> Value {
        json!({
            "iss": self.url, "sub": "ada", "aud": AUDIENCE, "exp": NOW_S + 600, "nbf": NOW_S - 5,
            "scope": "toolway read", "client_id": "desktop",
        })
    }

    /// Returns the default claims with overrides; null removes a claim.
    fn claims_with(&self, other: Value) -> Value {
        let mut claims = self.claims();
        for (key, value) in other.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(key);
            } else {
                claims[key] = value.clone();
            }
        }
        claims
    }

    fn issuer(&self, change: impl FnOnce(&mut IssuerSettings)) -> (TokenIssuer, ManualClock) {
        let mut settings = IssuerSettings {
            url: self.url.clone(),
            subjects: vec!["ada".to_owned()],
            scopes: vec!["toolway".to_owned()],
            ..IssuerSettings::default()
        };
        change(&mut settings);
        let clock = ManualClock::new(NOW_S * 1000);
        let http = OauthHttpClient::new(|| Err("nobody is trusted".to_owned()));
        (TokenIssuer::new(settings, Some(AUDIENCE), http, Arc::new(clock.clone())), clock)
    }
}

/// Advances the timer clock. It is not paused otherwise, or requests would time out at once.
async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

fn why(refusal: AuthRejection) -> &'static str {
    match refusal {
        AuthRejection::NotFromIssuer { why } => why,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_token_signed_with_each_kind_of_key_authenticates_a_client() {
    for signer in [JwtSigner::rsa(), JwtSigner::ec(), JwtSigner::ed()] {
        let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
        let (issuer, _) = fake.issuer(|it| it.agent = Some("helper".to_owned()));
        let text = signer.token("one", &fake.claims());
        assert!(TokenIssuer::looks_like_jwt(&text));
        let state = issuer.check(&text).await.unwrap();
        assert_eq!(state.role(), Role::Client, "{}", signer.algorithm());
        assert_eq!(state.label, "ada");
        assert_eq!(state.principal.agent.as_deref(), Some("helper"));
        assert_eq!(state.expires_ms, Some((NOW_S + 600) * 1000 + LEEWAY_MS));
        // The same text gives the same state, and the keys are fetched once.
        assert!(Arc::ptr_eq(&state, &issuer.check(&text).await.unwrap()));
        let again =
            issuer.check(&signer.token("one", &fake.claims_with(json!({ "jti": "2" })))).await.unwrap();
        assert_eq!(again.id(), state.id());
        assert_eq!(fake.fetched.load(Ordering::SeqCst), 1);
    }
}

/// The id is the first half of SHA-256 over the length of the issuer (eight bytes, big-endian), the issuer, and the
/// subject.
#[tokio::test]
async fn a_principal_id_depends_on_subject_and_issuer_only() {
    let settings = |url: &str| IssuerSettings { url: url.to_owned(), ..IssuerSettings::default() };
    let issuer = |url: &str| {
        let http = OauthHttpClient::new(|| Err(String::new()));
        TokenIssuer::new(settings(url), None, http, Arc::new(ManualClock::new(0)))
    };
    let it = issuer("https://login.example.org");
    assert_eq!(it.principal_id("ada"), "sub-9bfd1f8d8b218ac863b6aa3a18aec5ea");
    assert_ne!(it.principal_id("ada"), it.principal_id("bob"));
    assert_ne!(issuer("https://login.example.orga").principal_id("da"), it.principal_id("ada"));
}

/// Each case: overrides of the claims, and the expected error.
#[tokio::test]
async fn a_token_with_another_audience_or_issuer_is_refused() {
    let signer = JwtSigner::ec();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, _) = fake.issuer(|_| {});
    for (over, part) in [
        (json!({ "iss": "https://evil.example" }), "(iss)"),
        (json!({ "iss": format!("{}/", fake.url) }), "(iss)"),
        (json!({ "iss": null }), "is missing"),
        (json!({ "aud": "https://other.example/mcp" }), "(aud)"),
        (json!({ "aud": format!("{AUDIENCE}/") }), "(aud)"),
        (json!({ "aud": [] }), "(aud)"),
        (json!({ "aud": ["a", "b"] }), "(aud)"),
        (json!({ "aud": null }), "is missing"),
        (json!({ "sub": null }), "is missing"),
        (json!({ "sub": "" }), "(sub)"),
        (json!({ "sub": "eve" }), "(sub)"),
        (json!({ "sub": "*" }), "(sub)"),
        (json!({ "exp": null }), "is missing"),
        (json!({ "exp": "never" }), "is missing"),
        (json!({ "nbf": NOW_S + 31 }), "(nbf)"),
        (json!({ "cnf": { "jkt": "x" } }), "(cnf)"),
    ] {
        let refused = issuer.check(&signer.token("one", &fake.claims_with(over.clone()))).await.unwrap_err();
        let why = why(refused);
        assert!(why.contains(part), "{over}: {why}");
    }
    for over in [json!({ "aud": ["x", AUDIENCE] }), json!({ "nbf": null }), json!({ "nbf": NOW_S + 30 })] {
        assert!(issuer.check(&signer.token("one", &fake.claims_with(over.clone()))).await.is_ok(), "{over}");
    }
}

#[tokio::test]
async fn a_token_ends_30_seconds_after_its_expiry() {
    let signer = JwtSigner::ed();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, clock) = fake.issuer(|_| {});
    let expired = |exp: i64| signer.token("one", &fake.claims_with(json!({ "exp": exp })));
    assert_eq!(issuer.check(&expired(NOW_S - 30)).await.unwrap_err(), AuthRejection::Expired);
    let text = expired(NOW_S - 29);
    let state = issuer.check(&text).await.unwrap();
    clock.set(NOW_S * 1000 + 999);
    assert!(issuer.check(&text).await.is_ok());
    clock.set(NOW_S * 1000 + 1000);
    assert_eq!(issuer.check(&text).await.unwrap_err(), AuthRejection::Expired);
    assert!(state.end_reason().is_some());
}

#[tokio::test]
async fn scopes_are_read_from_both_claims_and_all_are_required() {
    let signer = JwtSigner::ec();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, _) = fake.issuer(|it| it.scopes = vec!["a".to_owned(), "b".to_owned()]);
    for (over, enough) in [
        (json!({ "scope": "a b" }), true),
        (json!({ "scope": "c b a" }), true),
        (json!({ "scope": null, "scp": "a b" }), true),
        (json!({ "scope": null, "scp": ["a", "b"] }), true),
        (json!({ "scope": "a" }), false),
        (json!({ "scope": "ab" }), false),
        (json!({ "scope": null }), false),
    ] {
        let came = issuer.check(&signer.token("one", &fake.claims_with(over.clone()))).await;
        let expected = if enough { None } else { Some("scope_missing") };
        assert_eq!(came.err().map(|it| it.code()), expected, "{over}");
    }
}

#[tokio::test]
async fn a_star_allows_every_subject() {
    let signer = JwtSigner::ec();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, _) = fake.issuer(|it| {
        it.subjects = vec!["*".to_owned()];
        it.scopes.clear();
        it.audience = Some("api://toolway".to_owned());
    });
    let claims = fake.claims_with(json!({
        "sub": "eve", "aud": "api://toolway", "scope": null, "preferred_username": "Eve\u{202e}\n",
    }));
    assert_eq!(issuer.check(&signer.token("one", &claims)).await.unwrap().label, "Eve");
    // A configured audience replaces the address.
    let refused = issuer.check(&signer.token("one", &fake.claims())).await.unwrap_err();
    assert!(why(refused).contains("(aud)"));
}

#[tokio::test]
async fn algorithms_without_public_keys_are_always_refused() {
    let signer = JwtSigner::rsa();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, _) = fake.issuer(|_| {});
    let claims = fake.claims();
    for algorithm in
        ["none", "None", "", "HS256", "HS512", "RS384", "RS512", "PS256", "ES384", "ES256K", "rs256"]
    {
        let header = json!({ "alg": algorithm, "kid": "one" });
        for text in [
            signer.sign(&header, &claims),
            // A library that trusts the header would use the public key as an HMAC secret.
            hmac_with_public_key(&header, &claims, &signer),
        ] {
            let refused = issuer.check(&text).await.unwrap_err();
            assert!(why(refused).contains("(alg)"), "{algorithm}");
        }
    }
    // An empty signature is not valid.
    let unsigned = signer.token("one", &claims);
    let unsigned = format!("{}.", unsigned.rsplit_once('.').unwrap().0);
    assert!(!TokenIssuer::looks_like_jwt(&unsigned));
    assert!(why(issuer.check(&unsigned).await.unwrap_err()).contains("signature"));
    assert_eq!(fake.fetched.load(Ordering::SeqCst), 1, "what can't be good costs no fetch");
}

fn hmac_with_public_key(header: &Value, claims: &Value, signer: &JwtSigner) -> String {
    let signed = format!("{}.{}", url64(header.to_string()), url64(claims.to_string()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, signer.jwk("one").to_string().as_bytes());
    format!("{signed}.{}", url64(ring::hmac::sign(&key, signed.as_bytes())))
}

#[tokio::test]
async fn a_key_verifies_only_its_own_algorithm() {
    let (ec, ed) = (JwtSigner::ec(), JwtSigner::ed());
    let fake = FakeIssuer::start(json!([ec.jwk("one"), ed.jwk("two")])).await;
    let (issuer, _) = fake.issuer(|_| {});
    for (signer, header) in [
        (&ec, json!({ "alg": "EdDSA", "kid": "one" })),
        (&ec, json!({ "alg": "RS256", "kid": "one" })),
        (&ec, json!({ "alg": "ES256", "kid": "two" })),
        (&ed, json!({ "alg": "ES256", "kid": "two" })),
        (&ed, json!({ "alg": "EdDSA", "kid": "one" })),
    ] {
        let refused = issuer.check(&signer.sign(&header, &fake.claims())).await.unwrap_err();
        assert!(why(refused).contains("signature"), "{header}");
    }
    // Without a key id, every key of the kind is tried.
    assert!(issuer.check(&ed.sign(&json!({ "alg": "Ed25519" }), &fake.claims())).await.is_ok());
}

#[tokio::test]
async fn any_change_invalidates_the_signature() {
    for signer in [JwtSigner::rsa(), JwtSigner::ec(), JwtSigner::ed()] {
        let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
        let (issuer, _) = fake.issuer(|_| {});
        let good = signer.token("one", &fake.claims());
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let header = signed.split_once('.').unwrap().0;
        let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let other = url64(fake.claims_with(json!({ "scope": "toolway admin" })).to_string());
        let mut bad = vec![format!("{header}.{other}.{signature}"), format!("{signed}.{}", url64("short"))];
        bytes[0] ^= 1;
        bad.push(format!("{signed}.{}", url64(&bytes)));
        bytes[0] ^= 1;
        bytes.push(0);
        bad.push(format!("{signed}.{}", url64(&bytes)));
        for text in bad {
            assert!(why(issuer.check(&text).await.unwrap_err()).contains("signature"));
        }
        assert!(issuer.check(&good).await.is_ok());
    }
}

#[tokio::test]
async fn tokens_of_other_kinds_and_forms_are_refused() {
    let signer = JwtSigner::ec();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, _) = fake.issuer(|_| {});
    for header in [
        json!({ "alg": "ES256", "kid": "one", "typ": "secevent+jwt" }),
        json!({ "alg": "ES256", "kid": "one", "typ": "dpop+jwt" }),
        json!({ "alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false }),
        json!({ "alg": "ES256", "kid": "one", "crit": [] }),
        json!({ "kid": "one" }),
    ] {
        assert!(issuer.check(&signer.sign(&header, &fake.claims())).await.is_err(), "{header}");
    }
    for header in [
        json!({ "alg": "ES256" }),
        json!({ "alg": "ES256", "typ": "JWT" }),
        json!({ "alg": "ES256", "typ": "AT+JWT" }),
    ] {
        assert!(issuer.check(&signer.sign(&header, &fake.claims())).await.is_ok(), "{header}");
    }
    for text in ["", ".", "..", "a.b.c", "a.b", "a.b.c.d", "not a token"] {
        assert!(issuer.check(text).await.is_err(), "{text}");
    }
    let long = signer.token("one", &fake.claims_with(json!({ "x": "y".repeat(MAX_TOKEN) })));
    assert!(why(issuer.check(&long).await.unwrap_err()).contains("long"));
    for (text, looks) in
        [("a.b.c", true), ("a-_.b.c", true), ("twy_c_abc", false), ("a..c", false), ("a.b.c=", false)]
    {
        assert_eq!(TokenIssuer::looks_like_jwt(text), looks, "{text}");
    }
}

#[tokio::test]
async fn a_new_key_is_fetched_when_needed_but_not_for_every_token() {
    let (old, new) = (JwtSigner::ec(), JwtSigner::ed());
    let fake = FakeIssuer::start(json!([old.jwk("old")])).await;
    let (issuer, _) = fake.issuer(|_| {});
    let fetched = || fake.fetched.load(Ordering::SeqCst);
    let (first, second) = (old.token("old", &fake.claims()), new.token("new", &fake.claims()));
    let before = issuer.check(&first).await.unwrap();
    fake.keys.lock().1 = json!({ "keys": [new.jwk("new")] });
    // Within 30 seconds nothing makes the gateway fetch again.
    for at in 0..20 {
        let text = new.token(&format!("unknown-{at}"), &fake.claims());
        assert!(issuer.check(&text).await.is_err());
    }
    assert_eq!(fetched(), 1);
    skip(BETWEEN_FETCHES).await;
    assert!(issuer.check(&second).await.is_ok());
    assert_eq!(fetched(), 2);
    // Tokens of the old key are no longer valid, even cached ones, and their connections end.
    assert_eq!(before.end_reason(), Some(TokenEndReason::Revoked));
    skip(BETWEEN_FETCHES).await;
    assert!(why(issuer.check(&first).await.unwrap_err()).contains("signature"));
}

/// See `key_cache::MIN_FETCH_INTERVAL`.
const BETWEEN_FETCHES: Duration = Duration::from_secs(30);

#[tokio::test]
async fn keys_are_fetched_hourly_and_kept_for_six_hours_without_the_issuer() {
    let signer = JwtSigner::ec();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let (issuer, _) = fake.issuer(|_| {});
    let fetched = || fake.fetched.load(Ordering::SeqCst);
    let mut number = 0;
    let mut token = || {
        number += 1;
        signer.token("one", &fake.claims_with(json!({ "jti": number, "exp": NOW_S + 100_000 })))
    };
    assert!(issuer.check(&token()).await.is_ok());
    skip(Duration::from_secs(3599)).await;
    assert!(issuer.check(&token()).await.is_ok());
    assert_eq!(fetched(), 1);
    skip(Duration::from_secs(1)).await;
    assert!(issuer.check(&token()).await.is_ok());
    assert_eq!(fetched(), 2);
    fake.keys.lock().0 = StatusCode::INTERNAL_SERVER_ERROR;
    skip(Duration::from_secs(6 * 3600 - 60)).await;
    assert!(issuer.check(&token()).await.is_ok(), "the issuer is away, and the keys are not too old");
    skip(Duration::from_secs(60)).await;
    assert_eq!(issuer.check(&token()).await.unwrap_err(), AuthRejection::IssuerUnreachable);
    fake.keys.lock().0 = StatusCode::OK;
    skip(BETWEEN_FETCHES).await;
    assert!(issuer.check(&token()).await.is_ok());
}

#[tokio::test]
async fn an_issuer_without_keys_authenticates_nobody() {
    let signer = JwtSigner::ec();
    for keys in [json!([]), json!([{ "kty": "oct", "k": "c2VjcmV0", "kid": "one" }]), json!("none")] {
        let fake = FakeIssuer::start(keys.clone()).await;
        let (issuer, _) = fake.issuer(|_| {});
        let refused = issuer.check(&signer.token("one", &fake.claims())).await.unwrap_err();
        assert_eq!(refused, AuthRejection::IssuerUnreachable, "{keys}");
    }
}

#[tokio::test]
async fn the_key_url_can_be_set_and_metadata_of_another_issuer_is_refused() {
    let signer = JwtSigner::ec();
    let fake = FakeIssuer::start(json!([signer.jwk("one")])).await;
    let elsewhere = "https://login.example.org".to_owned();
    let (issuer, _) = fake.issuer(|it| {
        it.url = elsewhere.clone();
        it.jwks_url = Some(format!("{}/keys", fake.url));
    });
    let text = signer.token("one", &fake.claims_with(json!({ "iss": elsewhere })));
    assert!(issuer.check(&text).await.is_ok());
    // The metadata at this URL is for the other host name.
    let other = fake.url.replace("127.0.0.1", "localhost");
    let (issuer, _) = fake.issuer(|it| it.url = other.clone());
    let text = signer.token("one", &fake.claims_with(json!({ "iss": other })));
    assert_eq!(issuer.check(&text).await.unwrap_err(), AuthRejection::IssuerUnreachable);
}

/// RFC 7515, appendix A.2 and A.3, and RFC 8037, appendix A.4: published keys and signatures.
#[test]
fn the_examples_of_the_specifications_are_verified() {
    let keys = json!({ "keys": [
        { "kty": "RSA", "kid": "rsa", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ" },
        { "kty": "EC", "crv": "P-256", "kid": "ec", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" },
        { "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    ] });
    let keys = JwkSet::read(keys.to_string().as_bytes(), None).unwrap();
    const PAYLOAD: &str =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    for text in [
        format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"),
        format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"),
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg".to_owned(),
    ] {
        assert!(keys.verify(&claims::parse(&text).unwrap()), "{text}");
        let other = text.replacen(".R", ".S", 1).replacen(".eyJpc3", ".eyJpc2", 1);
        assert!(!keys.verify(&claims::parse(&other).unwrap()));
    }
}

#[test]
fn unsuitable_and_weak_keys_are_ignored() {
    let (ec, rsa) = (JwtSigner::ec(), JwtSigner::rsa());
    let with = |key: Value, field: &str, value: Value| {
        let mut key = key;
        key[field] = value;
        key
    };
    let is_read = |key: &Value| JwkSet::read(json!({ "keys": [key] }).to_string().as_bytes(), None).is_ok();
    assert!(is_read(&with(ec.jwk("k"), "alg", "ES256".into())));
    assert!(is_read(&with(ec.jwk("k"), "key_ops", json!(["verify"]))));
    for key in [
        with(ec.jwk("k"), "use", "enc".into()),
        with(ec.jwk("k"), "alg", "ES384".into()),
        with(ec.jwk("k"), "crv", "P-384".into()),
        with(ec.jwk("k"), "crv", "secp256k1".into()),
        with(ec.jwk("k"), "key_ops", json!(["sign"])),
        with(ec.jwk("k"), "x", "AA".into()),
        with(ec.jwk("k"), "kty", "oct".into()),
        with(rsa.jwk("k"), "alg", "RSA-OAEP".into()),
        with(rsa.jwk("k"), "n", Value::Null),
        json!({}),
        json!(7),
    ] {
        assert!(!is_read(&key), "{key}");
    }
    // RSA keys below 2048 bits are not used (RFC 7518, section 3.3).
    let weak = with(rsa.jwk("k"), "n", url64([0xc1; 128]).into());
    let keys = JwkSet::read(json!({ "keys": [weak] }).to_string().as_bytes(), None).unwrap();
    let text = rsa.token("k", &json!({}));
    assert!(!keys.verify(&claims::parse(&text).unwrap()));
}
