//! Tokens without a person, and tokens that are bound to a key.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

use super::*;
use crate::definition::SubjectTokenType;

fn private_key() -> ClientKey {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let text = STANDARD.encode(pkcs8.as_ref());
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    ClientKey { pem: pem.into(), id: Some("key-1".to_owned()) }
}

/// A part of a signed token: 0 is the header, 1 the claims.
fn part(token: &str, at: usize) -> Value {
    let text = token.split('.').nth(at).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

struct UnattendedCase {
    server: FakeAuthServer,
    resource: FakeResourceServer,
    case: OauthHarness,
}

impl UnattendedCase {
    /// The settings of a client with a secret, changed by `change`.
    async fn start(change: impl FnOnce(&mut OauthClientSettings)) -> Self {
        let server = FakeAuthServer::start().await;
        server.state.lock().metadata = json!({
            "authorization_endpoint": null, "code_challenge_methods_supported": null,
            "token_endpoint_auth_methods_supported": ["private_key_jwt", "client_secret_post"],
        });
        let resource = FakeResourceServer::start(&[&server]).await;
        let case = OauthHarness::new();
        let mut settings = OauthClientSettings {
            grant: OauthGrant::ClientCredentials,
            client_id: Some("me".to_owned()),
            client_secret: Some("s3cret".to_owned().into()),
            issuer: Some(server.url.clone()),
            ..OauthClientSettings::default()
        };
        change(&mut settings);
        *case.settings.lock() = settings;
        Self { server, resource, case }
    }

    async fn refuse(&self, status: StatusCode, said: &str) -> Result<ChallengeOutcome, AuthorizeError> {
        self.case.gateway.handle_challenge(&slug(), &self.resource.url, said, status).await
    }

    async fn token(&self) -> Option<String> {
        self.case.token(&self.resource).await
    }

    fn forms(&self) -> Vec<FormFields> {
        self.server.state.lock().token_requests.iter().map(|(form, _)| form.clone()).collect()
    }
}

const UNAUTHORIZED: StatusCode = StatusCode::UNAUTHORIZED;

/// RFC 6749, section 4.4.
#[tokio::test]
async fn a_client_with_a_secret_gets_its_tokens_by_itself_and_new_ones_before_they_expire() {
    let it = UnattendedCase::start(|_| {}).await;
    assert_eq!(it.token().await, None, "nothing is requested before the server asks");
    let said = "Bearer scope=\"read\"";
    assert_eq!(it.refuse(UNAUTHORIZED, said).await, Ok(ChallengeOutcome::RetryRequest));
    assert_eq!(it.token().await.as_deref(), Some("access-1"));
    let form = it.forms().remove(0);
    for (name, value) in [
        ("grant_type", "client_credentials"),
        ("client_id", "me"),
        ("client_secret", "s3cret"),
        ("scope", "read"),
        ("resource", it.resource.url.as_str()),
    ] {
        assert_eq!(form[name], value, "{name}");
    }
    it.case.clock.advance(3541);
    let all = futures_util::future::join_all((0..8).map(|_| it.token())).await;
    assert!(all.iter().all(|token| token.as_deref() == Some("access-2")), "{all:?}");
    assert_eq!(it.forms().len(), 2, "one request for all");
    assert_eq!(it.forms()[1]["scope"], "read");
    assert!(
        it.server.state.lock().registrations.is_empty() && it.server.state.lock().authorizations.is_empty()
    );
}

/// RFC 7523, section 2.2: the client signs an assertion about itself for the authorization server.
#[tokio::test]
async fn a_client_with_a_key_signs_an_assertion_for_each_request() {
    let it = UnattendedCase::start(|settings| {
        settings.client_secret = None;
        settings.private_key = Some(private_key());
    })
    .await;
    it.refuse(UNAUTHORIZED, "Bearer").await.unwrap();
    it.case.clock.advance(3600);
    assert_eq!(it.token().await.as_deref(), Some("access-2"));
    let mut ids = Vec::new();
    for form in it.forms() {
        assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        let assertion = &form["client_assertion"];
        assert_eq!(part(assertion, 0), json!({ "alg": "ES256", "kid": "key-1", "typ": "JWT" }));
        let claims = part(assertion, 1);
        let named = [&claims["iss"], &claims["sub"], &claims["aud"]];
        assert_eq!(named, [&json!("me"), &json!("me"), &json!(it.server.url)]);
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 120);
        ids.push(claims["jti"].clone());
        assert!(!form.contains_key("client_secret"));
    }
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    // The signature algorithm must be one that the server takes.
    let stored: Value = serde_json::from_str(it.case.store.0.lock()[&slug()].expose_secret()).unwrap();
    assert!(!stored.to_string().contains("PRIVATE KEY"), "the key itself is not stored");
    it.server.state.lock().metadata["token_endpoint_auth_signing_alg_values_supported"] = json!(["RS256"]);
    let error = it.case.terminal.request_token(&slug(), &it.resource.url, &BearerChallenge::default()).await;
    assert!(error.unwrap_err().to_string().contains("signs with ES256"));
}

/// RFC 7523, section 2.1: an assertion of another program, or one that the client signs for a subject.
#[tokio::test]
async fn a_signed_assertion_is_exchanged_for_a_token() {
    let issued = AssertionSource::Issued("head.claims.signature\n".to_owned().into());
    let signed = AssertionSource::SignedFor(Some("ada".to_owned()));
    for (source, is_signed) in [(issued, false), (signed, true)] {
        let it = UnattendedCase::start(|settings| {
            settings.grant = OauthGrant::JwtBearer(source);
            settings.private_key = is_signed.then(private_key);
        })
        .await;
        it.refuse(UNAUTHORIZED, "Bearer").await.unwrap();
        assert_eq!(it.token().await.as_deref(), Some("access-1"));
        let form = it.forms().remove(0);
        assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
        if is_signed {
            let claims = part(&form["assertion"], 1);
            let named = [&claims["iss"], &claims["sub"], &claims["aud"]];
            assert_eq!(named, [&json!("me"), &json!("ada"), &json!(it.server.url)]);
        } else {
            assert_eq!(form["assertion"], "head.claims.signature");
        }
    }
}

/// RFC 8693, section 2, and "Identity Assertion JWT Authorization Grant".
#[tokio::test]
async fn the_identity_provider_exchanges_the_persons_token_for_an_assertion() {
    let provider = FakeAuthServer::start().await;
    {
        let mut state = provider.state.lock();
        state.metadata = json!({ "code_challenge_methods_supported": null });
        state.token = json!({
            "access_token": "id.jag.signature", "token_type": "N_A",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        });
    }
    let it = UnattendedCase::start(|settings| {
        settings.grant = OauthGrant::EnterpriseManaged(IdentityProviderSettings {
            issuer: provider.url.clone(),
            token_endpoint: None,
            client_id: "at-the-provider".to_owned(),
            client_secret: None,
            private_key: None,
            subject_token: "id.token.signature".to_owned().into(),
            subject_token_type: SubjectTokenType::IdToken,
        });
    })
    .await;
    it.refuse(UNAUTHORIZED, "Bearer scope=\"read\"").await.unwrap();
    assert_eq!(it.token().await.as_deref(), Some("access-1"));
    let (exchange, _) = last_form(&provider);
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("audience", it.server.url.as_str()),
        ("resource", it.resource.url.as_str()),
        ("scope", "read"),
        ("subject_token", "id.token.signature"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("client_id", "at-the-provider"),
    ] {
        assert_eq!(exchange[name], value, "{name}");
    }
    assert!(!exchange.contains_key("client_secret"), "the secret of the other client stays at its server");
    let form = it.forms().remove(0);
    assert_eq!((form["assertion"].as_str(), form["client_secret"].as_str()), ("id.jag.signature", "s3cret"));
    // Anything else than an identity assertion is not passed on.
    provider.state.lock().token =
        json!({ "issued_token_type": "urn:ietf:params:oauth:token-type:access_token" });
    let asked = it.forms().len();
    let error = it.case.terminal.request_token(&slug(), &it.resource.url, &BearerChallenge::default()).await;
    assert!(error.unwrap_err().to_string().contains("identity assertion"));
    assert_eq!(it.forms().len(), asked);
}

#[tokio::test]
async fn credentials_go_only_to_the_issuer_in_the_settings() {
    let it = UnattendedCase::start(|_| {}).await;
    let other = FakeAuthServer::start().await;
    it.resource.state.lock().issuers = vec![other.url.clone()];
    let error = it.refuse(UNAUTHORIZED, "Bearer").await.unwrap_err();
    assert!(error.message.contains("issuer") && !error.needs_login, "{error}");
    assert!(grants(&other).is_empty());
    // A server that names no authorization server leaves the choice to the owner.
    it.resource.state.lock().issuers.clear();
    it.case.settings.lock().scopes = vec!["own".to_owned()];
    it.refuse(UNAUTHORIZED, "Bearer").await.unwrap();
    assert_eq!(it.forms()[0]["scope"], "own");
}

#[tokio::test]
async fn a_refused_client_is_not_tried_again_at_once_unless_its_settings_change() {
    let it = UnattendedCase::start(|_| {}).await;
    it.server.state.lock().token_error = Some((401, json!({ "error": "invalid_client" })));
    for _ in 0..3 {
        let error = it.refuse(UNAUTHORIZED, "Bearer").await.unwrap_err();
        assert!(error.message.contains("invalid_client") && !error.needs_login, "{error}");
        assert!(error.hint.unwrap().contains("toolway mcp login server"));
    }
    assert_eq!(it.forms().len(), 1);
    it.case.settings.lock().client_secret = Some("another".to_owned().into());
    it.refuse(UNAUTHORIZED, "Bearer").await.unwrap_err();
    assert_eq!(it.forms().len(), 2);
    // The owner's own test is made at once, and its token counts for the gateway.
    it.server.state.lock().token_error = None;
    let token = it.case.terminal.request_token(&slug(), &it.resource.url, &BearerChallenge::default()).await;
    assert!(token.unwrap().is_unattended());
    assert_eq!(it.refuse(UNAUTHORIZED, "Bearer").await, Ok(ChallengeOutcome::RetryRequest));
    assert_eq!(it.token().await.as_deref(), Some("access-1"));
    it.case.clock.advance(3600);
    assert_eq!(it.token().await.as_deref(), Some("access-2"), "the earlier refusal is forgotten");
}

#[tokio::test]
async fn a_server_causes_few_requests_for_tokens() {
    let it = UnattendedCase::start(|_| {}).await;
    it.refuse(UNAUTHORIZED, "Bearer").await.unwrap();
    let wants = |scope: &str| format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
    it.refuse(StatusCode::FORBIDDEN, &wants("a")).await.unwrap();
    it.refuse(StatusCode::FORBIDDEN, &wants("b")).await.unwrap();
    assert_eq!(it.forms()[2]["scope"], "a b");
    let error = it.refuse(StatusCode::FORBIDDEN, &wants("c")).await.unwrap_err();
    assert!(error.message.contains("3 times within a minute") && !error.needs_login, "{error}");
    // A new token that the server refuses as well is no reason for another one.
    let error = it.refuse(UNAUTHORIZED, "Bearer").await.unwrap_err();
    assert!(error.message.contains("refuses a new token") && error.hint.is_some(), "{error}");
    assert_eq!(it.forms().len(), 3);
}

#[tokio::test]
async fn further_scopes_are_requested_once() {
    let it = UnattendedCase::start(|_| {}).await;
    it.refuse(UNAUTHORIZED, "Bearer scope=\"read\"").await.unwrap();
    it.token().await;
    it.server.state.lock().token = json!({ "scope": "read" });
    let said = "Bearer error=\"insufficient_scope\", scope=\"write\"";
    it.refuse(StatusCode::FORBIDDEN, said).await.unwrap();
    assert_eq!(it.forms()[1]["scope"], "read write");
    let error = it.refuse(StatusCode::FORBIDDEN, said).await.unwrap_err();
    assert!(error.message.contains("does not grant") && error.message.contains("write"), "{error}");
    assert_eq!(it.forms().len(), 2);
}

#[tokio::test]
async fn a_token_of_other_settings_is_not_used() {
    let it = UnattendedCase::start(|_| {}).await;
    it.refuse(UNAUTHORIZED, "Bearer").await.unwrap();
    assert!(it.token().await.is_some());
    it.case.settings.lock().client_id = Some("another".to_owned());
    it.case.gateway.start_connection(&slug());
    assert_eq!(it.token().await, None);
    it.refuse(UNAUTHORIZED, "Bearer").await.unwrap();
    assert_eq!(it.forms()[1]["client_id"], "another");
    // The owner may choose a login instead.
    it.case.settings.lock().grant = OauthGrant::AuthorizationCode;
    it.case.gateway.start_connection(&slug());
    assert_eq!(it.refuse(UNAUTHORIZED, "Bearer").await, Ok(ChallengeOutcome::NeedsLogin));
}

/// RFC 9449, sections 5, 7.1, 8 and 9.
#[tokio::test]
async fn a_bound_token_is_sent_with_a_proof_and_the_nonces_of_both_servers() {
    let it = UnattendedCase::start(|_| {}).await;
    {
        let mut state = it.server.state.lock();
        state.metadata["dpop_signing_alg_values_supported"] = json!(["ES256"]);
        state.token = json!({ "token_type": "DPoP" });
        state.nonce = Some("of-the-server".to_owned());
    }
    assert_eq!(it.refuse(UNAUTHORIZED, "DPoP algs=\"ES256\"").await, Ok(ChallengeOutcome::RetryRequest));
    let proofs = it.server.state.lock().proofs.clone();
    assert_eq!(proofs.len(), 2, "the first one lacked the nonce");
    assert_eq!(part(&proofs[0], 1).get("nonce"), None);
    let claims = part(&proofs[1], 1);
    assert_eq!(claims["nonce"], "of-the-server");
    assert_eq!(claims["htu"], format!("{}/token", it.server.url));
    let token = it.case.gateway.token(&slug(), &it.resource.url).await.unwrap().unwrap();
    let url = Url::parse(&it.resource.url).unwrap();
    let proof = || {
        let proof = it.case.gateway.proof(&slug(), &Method::POST, &url, &token).unwrap();
        proof.to_str().unwrap().to_owned()
    };
    let first = proof();
    assert_eq!(part(&first, 0)["jwk"], part(&proofs[1], 0)["jwk"], "the key of the token request");
    assert_eq!(part(&first, 1).get("nonce"), None);
    assert_ne!(first, proof());
    let headers = HeaderMap::from_iter([(
        http::HeaderName::from_static("dpop-nonce"),
        HeaderValue::from_static("of-the-resource"),
    )]);
    it.case.gateway.observe_response(&slug(), &headers);
    let said = "Bearer error=\"invalid_token\", DPoP error=\"use_dpop_nonce\"";
    assert_eq!(it.refuse(UNAUTHORIZED, said).await, Ok(ChallengeOutcome::RetryRequest));
    assert_eq!(part(&proof(), 1)["nonce"], "of-the-resource");
    assert_eq!(it.forms().len(), 2, "a nonce needs no new token");
    let other = it.case.gateway.proof(&slug(), &Method::POST, &url, &"another".to_owned().into());
    assert_eq!(other, None, "a token without the key has no proof");
}

#[tokio::test]
async fn a_login_binds_its_tokens_where_the_server_wants_it_or_the_owner() {
    // (the challenge, supported by the authorization server, required by the owner, the type of the token → bound)
    for (said, supported, required, kind, bound) in [
        ("Bearer", true, false, "Bearer", Ok(false)),
        ("DPoP", true, false, "DPoP", Ok(true)),
        ("DPoP", true, false, "Bearer", Ok(false)),
        ("DPoP", false, false, "Bearer", Ok(false)),
        ("Bearer", false, true, "DPoP", Ok(true)),
        ("Bearer", true, true, "Bearer", Err(())),
    ] {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        if supported {
            server.state.lock().metadata = json!({ "dpop_signing_alg_values_supported": ["RS256", "ES256"] });
        }
        server.state.lock().token = json!({ "token_type": kind });
        let case = OauthHarness::new();
        case.settings.lock().requires_dpop = required;
        let challenge = BearerChallenge::parse(said);
        let kept = case.terminal.login(&slug(), &resource.url, &challenge, &*case.browser).await;
        let found = kept.as_ref().map(|it| it.is_bound()).map_err(|_| ());
        assert_eq!(found, bound, "{said} {supported} {required} {kind}: {kept:?}");
        if found != Ok(true) {
            continue;
        }
        // A refresh uses the same key, and a token without a binding is not accepted in its place.
        case.token(&resource).await;
        case.clock.advance(3600);
        assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
        let proofs = server.state.lock().proofs.clone();
        assert_eq!(part(&proofs[0], 0)["jwk"], part(&proofs[1], 0)["jwk"]);
        server.state.lock().token = json!({ "token_type": "Bearer" });
        case.clock.advance(3700);
        let error = case.gateway.token(&slug(), &resource.url).await.unwrap_err();
        assert!(error.message.contains("not bound"), "{error}");
    }
}
