//! Whole logins, renewals and refusals, against servers on loopback ports.

mod fake_servers;
mod unattended;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use http::StatusCode;
use parking_lot::Mutex;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use toolway_types::{Clock, Slug};

use super::*;
use crate::upstream::authorizer::{AuthorizeError, Authorizer as _, ChallengeOutcome};
use fake_servers::{FakeAuthServer, FakeResourceServer, FormFields};

#[derive(Debug, Default, Clone)]
struct ManualClock(Arc<AtomicI64>);

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl ManualClock {
    fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

/// Keeps in memory.
#[derive(Default)]
struct MemoryTokenStore(Mutex<HashMap<Slug, SecretString>>);

impl TokenStore for MemoryTokenStore {
    fn load(&self, server: &Slug) -> Result<Option<SecretString>, TokenStoreError> {
        Ok(self.0.lock().get(server).cloned())
    }

    fn save(&self, server: &Slug, text: &SecretString) -> Result<(), TokenStoreError> {
        self.0.lock().insert(server.clone(), text.clone());
        Ok(())
    }

    fn remove(&self, server: &Slug) -> Result<bool, TokenStoreError> {
        Ok(self.0.lock().remove(server).is_some())
    }
}

/// A person who says yes at once.
#[derive(Default)]
struct ApprovingBrowser {
    visits: AtomicUsize,
}

#[async_trait]
impl LoginBrowser for ApprovingBrowser {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:1/callback".to_owned()
    }

    async fn visit(
        &self,
        url: &Url,
        is_answer: &(dyn for<'q> Fn(&'q str) -> bool + Sync),
    ) -> Result<SecretString, BrowserError> {
        self.visits.fetch_add(1, Ordering::SeqCst);
        let query = follow_redirect(url).await;
        assert!(is_answer(&query));
        assert!(!is_answer("code=x&state=another"));
        Ok(query.into())
    }
}

/// Where the authorization server sends the browser back: the query of it.
async fn follow_redirect(url: &Url) -> String {
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let client = client.tls_backend_preconfigured(tls).build().unwrap();
    let answer = client.get(url.clone()).send().await.unwrap();
    let to = answer.headers()["location"].to_str().unwrap().to_owned();
    Url::parse(&to).unwrap().query().unwrap().to_owned()
}

struct OauthHarness {
    clock: ManualClock,
    store: Arc<MemoryTokenStore>,
    settings: Arc<Mutex<OauthClientSettings>>,
    browser: Arc<ApprovingBrowser>,
    /// A gateway: nobody can be asked.
    gateway: OauthAuthorizer,
    /// A program with a person before it.
    terminal: OauthAuthorizer,
}

impl OauthHarness {
    fn new() -> Self {
        let clock = ManualClock(Arc::new(AtomicI64::new(1_800_000_000_000)));
        let (store, settings): (Arc<MemoryTokenStore>, Arc<Mutex<OauthClientSettings>>) = Default::default();
        let browser = Arc::new(ApprovingBrowser::default());
        let oauth = |browser: Option<Arc<dyn LoginBrowser>>| {
            let settings = Arc::clone(&settings);
            OauthAuthorizer::new(OauthDeps {
                http: OauthHttpClient::new(|| Err("nobody is trusted".to_owned())),
                clock: Arc::new(clock.clone()),
                store: Arc::clone(&store) as _,
                settings: Arc::new(move |_| Ok(settings.lock().clone())),
                browser,
            })
        };
        let (gateway, terminal) = (oauth(None), oauth(Some(Arc::clone(&browser) as _)));
        Self { clock, store, settings, browser, gateway, terminal }
    }

    async fn login(&self, resource: &FakeResourceServer) -> Result<Arc<OauthCredentials>, OauthError> {
        self.terminal.login(&slug(), &resource.url, &BearerChallenge::default(), &*self.browser).await
    }

    async fn token(&self, resource: &FakeResourceServer) -> Option<String> {
        let token = self.gateway.token(&slug(), &resource.url).await.unwrap();
        token.map(|it| it.expose_secret().to_owned())
    }

    async fn challenge(&self, resource: &FakeResourceServer) -> ChallengeOutcome {
        let said = "Bearer error=\"invalid_token\"";
        self.gateway.handle_challenge(&slug(), &resource.url, said, StatusCode::UNAUTHORIZED).await.unwrap()
    }
}

fn slug() -> Slug {
    "server".parse().unwrap()
}

fn grants(server: &FakeAuthServer) -> Vec<String> {
    server.state.lock().token_requests.iter().map(|(form, _)| form["grant_type"].clone()).collect()
}

fn last_form(server: &FakeAuthServer) -> (FormFields, Option<String>) {
    server.state.lock().token_requests.last().unwrap().clone()
}

#[tokio::test]
async fn a_login_registers_asks_for_the_resource_and_is_found_by_the_gateway() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    resource.state.lock().metadata = json!({ "scopes_supported": ["read", "write"] });
    let case = OauthHarness::new();
    assert_eq!(case.token(&resource).await, None);
    let kept = case.login(&resource).await.unwrap();
    assert_eq!(
        (kept.issuer(), kept.scopes()),
        (server.url.as_str(), ["read".to_owned(), "write".to_owned()].as_slice())
    );
    assert!(kept.can_be_renewed());
    {
        let state = server.state.lock();
        let registered = &state.registrations[0];
        assert_eq!(registered["application_type"], "native");
        assert_eq!(registered["grant_types"], json!(["authorization_code", "refresh_token"]));
        assert_eq!(registered["token_endpoint_auth_method"], "none");
        assert_eq!(registered["redirect_uris"], json!(["http://127.0.0.1:1/callback"]));
        let asked = &state.authorizations[0];
        assert_eq!(asked["resource"], resource.url);
        assert_eq!(asked["scope"], "read write");
        assert_eq!(asked["code_challenge_method"], "S256");
        let (form, authorization) = &state.token_requests[0];
        assert_eq!(form["resource"], resource.url);
        assert_eq!(form["client_id"], "client-1");
        assert_eq!(*authorization, None);
    }
    // Another program's gateway sees it once it is refused, without waiting until it looks again.
    assert_eq!(case.challenge(&resource).await, ChallengeOutcome::RetryRequest);
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-1"));
}

#[tokio::test]
async fn a_second_login_uses_the_client_that_was_registered() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().registrations.len(), 1);
    assert_eq!(server.state.lock().authorizations[1]["client_id"], "client-1");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_by_one_request_for_all_and_the_refresh_token_rotates() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-1"));
    case.clock.advance(3539);
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-1"));
    case.clock.advance(1);
    let all = futures_util::future::join_all((0..16).map(|_| case.token(&resource))).await;
    assert!(all.iter().all(|it| it.as_deref() == Some("access-2")), "{all:?}");
    assert_eq!(grants(&server), ["authorization_code", "refresh_token"]);
    assert_eq!(last_form(&server).0["refresh_token"], "refresh-1");
    assert_eq!(last_form(&server).0["resource"], resource.url);
    // What was rotated is kept: the next renewal shows the new one, and so does a gateway that starts anew.
    case.clock.advance(3540);
    let kept =
        OauthHarness { store: Arc::clone(&case.store), clock: case.clock.clone(), ..OauthHarness::new() };
    let anew = OauthAuthorizer::new(OauthDeps {
        http: OauthHttpClient::new(|| Err("nobody is trusted".to_owned())),
        clock: Arc::new(kept.clock.clone()),
        store: Arc::clone(&kept.store) as _,
        settings: Arc::new(|_| Ok(OauthClientSettings::default())),
        browser: None,
    });
    let token = anew.token(&slug(), &resource.url).await.unwrap().unwrap();
    assert_eq!(token.expose_secret(), "access-3");
    assert_eq!(last_form(&server).0["refresh_token"], "refresh-2");
    // The gateway that still holds the older one takes what the other kept, rather than show it again.
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-3"));
    assert_eq!(grants(&server).len(), 3);
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once_and_then_a_login_is_needed() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    case.clock.advance(60);
    assert_eq!(case.challenge(&resource).await, ChallengeOutcome::RetryRequest);
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
    // It is fresh, so another of the kind would be refused as well.
    assert_eq!(case.challenge(&resource).await, ChallengeOutcome::NeedsLogin);
    assert_eq!(grants(&server).len(), 2);
}

#[tokio::test]
async fn a_refresh_token_that_is_no_longer_good_is_dropped_and_the_login_is_asked_for() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    server.state.lock().token_error =
        Some((400, json!({ "error": "invalid_grant", "error_description": "gone\u{1b}[31m" })));
    case.clock.advance(3550);
    // Still good for a few seconds, so it is used.
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-1"));
    case.clock.advance(60);
    let before = grants(&server).len();
    assert_eq!(
        case.gateway.token(&slug(), &resource.url).await.unwrap_err().hint.as_deref(),
        Some("run `toolway mcp login server`")
    );
    assert_eq!(grants(&server).len(), before, "what was refused is not sent again");
    assert_eq!(case.challenge(&resource).await, ChallengeOutcome::NeedsLogin);
    // The login mends it.
    server.state.lock().token_error = None;
    case.login(&resource).await.unwrap();
    assert_eq!(case.challenge(&resource).await, ChallengeOutcome::RetryRequest);
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
}

#[tokio::test]
async fn a_server_that_is_down_costs_nothing_that_is_kept() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    server.state.lock().token_error = Some((503, json!({})));
    case.clock.advance(3700);
    let error = case.gateway.token(&slug(), &resource.url).await.unwrap_err();
    assert_eq!(error.hint, None, "{error}");
    server.state.lock().token_error = None;
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
}

/// What is no metadata is no reason to take the server for its own authorization server where it is only away.
#[tokio::test]
async fn a_server_that_is_down_is_not_taken_for_one_without_metadata() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    case.clock.advance(3700);
    for (status, text, passing) in [(503, "", true), (404, "", false), (200, "<html>", false)] {
        resource.state.lock().override_response = Some((status, text));
        let error = case.gateway.token(&slug(), &resource.url).await.unwrap_err();
        assert_eq!(error.hint.is_none(), passing, "{status} {error}");
        assert_eq!(case.store.0.lock().len(), 1, "what there is is kept");
        assert_eq!(
            OauthHarness::new().login(&resource).await.unwrap_err().is_transient(),
            passing,
            "{status}"
        );
    }
    resource.state.lock().override_response = None;
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
}

#[tokio::test]
async fn what_one_issuer_gave_is_dropped_when_the_server_names_another() {
    let (old, new) = (FakeAuthServer::start().await, FakeAuthServer::start().await);
    let resource = FakeResourceServer::start(&[&old]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    resource.state.lock().issuers = vec![new.url.clone()];
    case.clock.advance(60);
    assert_eq!(case.challenge(&resource).await, ChallengeOutcome::NeedsLogin);
    assert_eq!(case.token(&resource).await, None);
    assert!(case.store.0.lock().is_empty());
    assert!(grants(&new).is_empty(), "nothing of the old issuer reached the new one");
    case.login(&resource).await.unwrap();
    assert_eq!(new.state.lock().registrations.len(), 1);
    assert_eq!(grants(&old).len(), 1);
}

#[tokio::test]
async fn a_renewal_goes_to_the_issuer_of_the_login_also_where_the_server_names_another_first() {
    let (old, new) = (FakeAuthServer::start().await, FakeAuthServer::start().await);
    let resource = FakeResourceServer::start(&[&old]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    resource.state.lock().issuers = vec![new.url.clone(), old.url.clone()];
    case.clock.advance(3600);
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
    assert_eq!((grants(&old).len(), grants(&new).len()), (2, 0));
}

#[tokio::test]
async fn a_token_is_not_shown_to_a_server_at_another_address() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    assert!(case.token(&resource).await.is_some());
    for other in [
        "http://127.0.0.1:1/mcp".to_owned(),
        resource.url.replace("/mcp", "/other"),
        resource.url.replace("127.0.0.1", "localhost"),
    ] {
        let token = case.gateway.token(&slug(), &other).await.unwrap();
        assert!(token.is_none(), "{other}");
    }
}

#[tokio::test]
async fn a_token_endpoint_that_redirects_gets_no_second_request() {
    let (server, thief) = (FakeAuthServer::start().await, FakeAuthServer::start().await);
    let resource = FakeResourceServer::start(&[&server]).await;
    server.state.lock().redirect = Some(format!("{}/token", thief.url));
    let error = OauthHarness::new().login(&resource).await.unwrap_err();
    assert!(error.to_string().contains("redirects"), "{error}");
    assert!(grants(&thief).is_empty());
}

/// RFC 9207, section 2.4: (what its metadata promises, the `iss` of its answer, whether it is taken).
#[tokio::test]
async fn an_answer_must_be_of_the_issuer_that_was_asked() {
    for (promised, iss, taken) in [
        (true, None, true),
        (false, None, true),
        (false, Some(""), true),
        (true, Some(""), false),
        (true, Some("https://evil.example"), false),
        (false, Some("https://evil.example"), false),
    ] {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        {
            let mut state = server.state.lock();
            state.metadata = json!({ "authorization_response_iss_parameter_supported": promised });
            state.iss = iss.map(str::to_owned);
        }
        let came = OauthHarness::new().login(&resource).await;
        assert_eq!(came.is_ok(), taken, "{promised} {iss:?} {came:?}");
        assert_eq!(grants(&server).len(), usize::from(taken));
    }
}

#[tokio::test]
async fn an_answer_to_another_login_or_none_at_all_is_refused() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    server.state.lock().metadata = json!({ "authorization_response_iss_parameter_supported": false });
    let begin = async || {
        let request = OauthLoginRequest {
            server: &resource.url,
            challenge: &BearerChallenge::default(),
            settings: &OauthClientSettings::default(),
            previous: None,
            redirect_uri: "http://127.0.0.1:1/callback",
        };
        let http = OauthHttpClient::new(|| Err("nobody is trusted".to_owned()));
        PendingLogin::begin(http, Arc::new(ManualClock::default()), request).await.unwrap()
    };
    let state = |login: &PendingLogin| {
        login.url().query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned()
    };
    for (form, refused) in [
        ("code=x", true),
        ("code=x&state=another", true),
        ("code=x&state=STATE&state=STATE", true),
        ("code=x&code=y&state=STATE", true),
        ("state=STATE", true),
        ("code=&state=STATE", true),
        ("error=access_denied&error_description=no&state=STATE", false),
    ] {
        let login = begin().await;
        let query = form.replace("STATE", &state(&login));
        match login.finish(&query).await.unwrap_err() {
            OauthError::WrongCallback(_) => assert!(refused, "{form}"),
            OauthError::Refused { code, description } => {
                assert!(!refused, "{form}");
                assert_eq!((code.as_str(), description.as_deref()), ("access_denied", Some("no")));
            }
            other => panic!("{form}: {other}"),
        }
    }
    let login = begin().await;
    let long = format!("code={}&state={}", "x".repeat(20_000), state(&login));
    assert!(matches!(login.finish(&long).await, Err(OauthError::WrongCallback(_))));
    assert!(grants(&server).is_empty());
}

#[tokio::test]
async fn a_client_that_the_owner_registered_is_used_and_shows_its_secret_as_the_server_wants_it() {
    for (methods, header, in_body) in [
        (json!(["client_secret_basic"]), true, false),
        (json!(["client_secret_post"]), false, true),
        (json!(["private_key_jwt", "client_secret_post", "client_secret_basic"]), true, false),
        (Value::Null, true, false),
    ] {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        server.state.lock().metadata =
            json!({ "token_endpoint_auth_methods_supported": methods, "registration_endpoint": null });
        let case = OauthHarness::new();
        *case.settings.lock() = OauthClientSettings {
            client_id: Some("an id:with/signs".to_owned()),
            client_secret: Some("s3cret&+".to_owned().into()),
            ..OauthClientSettings::default()
        };
        case.login(&resource).await.unwrap();
        let (form, authorization) = last_form(&server);
        // RFC 6749, section 2.3.1: each written as a form writes it, then joined, then base64.
        let expected = "Basic YW4raWQlM0F3aXRoJTJGc2lnbnM6czNjcmV0JTI2JTJC";
        assert_eq!(authorization.as_deref(), header.then_some(expected), "{methods}");
        assert_eq!(form.get("client_secret").map(String::as_str), in_body.then_some("s3cret&+"), "{methods}");
        // A renewal takes the secret that is set now.
        case.settings.lock().client_secret = Some("changed".to_owned().into());
        case.token(&resource).await;
        case.clock.advance(3600);
        assert_eq!(case.token(&resource).await.as_deref(), Some("access-2"));
        let (form, authorization) = last_form(&server);
        assert_eq!(form.get("client_secret").map(String::as_str), in_body.then_some("changed"));
        assert_ne!(authorization.as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn a_clients_secret_goes_to_the_issuer_that_it_is_set_for_alone() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    *case.settings.lock() = OauthClientSettings {
        client_id: Some("mine".to_owned()),
        client_secret: Some("secret".to_owned().into()),
        issuer: Some("https://login.example.org".to_owned()),
        ..OauthClientSettings::default()
    };
    let error = case.login(&resource).await.unwrap_err();
    assert!(matches!(error, OauthError::IssuerMismatch { .. }), "{error}");
    assert_eq!(case.browser.visits.load(Ordering::SeqCst), 0);
    case.settings.lock().issuer = Some(server.url.clone());
    server.state.lock().metadata =
        json!({ "token_endpoint_auth_methods_supported": ["client_secret_basic"] });
    case.login(&resource).await.unwrap();
}

#[tokio::test]
async fn a_client_id_may_be_an_address_where_the_server_takes_one() {
    let document = "https://toolway.example/client.json";
    for (takes, id, registrations) in [(true, document, 0), (false, "client-1", 1)] {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        server.state.lock().metadata = json!({ "client_id_metadata_document_supported": takes });
        let case = OauthHarness::new();
        case.settings.lock().client_metadata_url = Some(document.to_owned());
        case.login(&resource).await.unwrap();
        let state = server.state.lock();
        assert_eq!(state.authorizations[0]["client_id"], id);
        assert_eq!(state.registrations.len(), registrations);
    }
    for bad in
        ["http://toolway.example/client.json", "https://toolway.example/", "https://toolway.example/x#y", "x"]
    {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        server.state.lock().metadata = json!({ "client_id_metadata_document_supported": true });
        let case = OauthHarness::new();
        case.settings.lock().client_metadata_url = Some(bad.to_owned());
        let error = case.login(&resource).await.unwrap_err();
        assert!(matches!(error, OauthError::Settings(_)), "{bad}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_registers_nobody_says_what_to_do() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    server.state.lock().metadata = json!({ "registration_endpoint": null });
    let error = OauthHarness::new().login(&resource).await.unwrap_err();
    assert!(matches!(error, OauthError::NoClient(_)), "{error}");
    assert!(error.to_string().contains("oauth.client_id"));
}

#[tokio::test]
async fn a_registration_with_a_secret_that_ended_is_made_anew() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    {
        let mut state = server.state.lock();
        state.metadata = json!({ "token_endpoint_auth_methods_supported": ["client_secret_post"] });
        state.registration =
            json!({ "client_secret": "given", "client_secret_expires_at": case.clock.now_ms() / 1000 + 100 });
    }
    case.login(&resource).await.unwrap();
    assert_eq!(last_form(&server).0["client_secret"], "given");
    case.clock.advance(50);
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().registrations.len(), 1);
    case.clock.advance(50);
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().registrations.len(), 2);
}

#[tokio::test]
async fn missing_scopes_are_noted_and_the_next_login_adds_them() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    resource.state.lock().metadata = json!({ "scopes_supported": ["read"] });
    let case = OauthHarness::new();
    case.login(&resource).await.unwrap();
    case.token(&resource).await;
    let wants = async |oauth: &OauthAuthorizer, scope: &str| {
        let said = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        oauth.handle_challenge(&slug(), &resource.url, &said, StatusCode::FORBIDDEN).await
    };
    let error = wants(&case.gateway, "write").await.unwrap_err();
    assert!(error.message.contains("write"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("run `toolway mcp login server`"));
    // The token stays good for everything else.
    assert_eq!(case.token(&resource).await.as_deref(), Some("access-1"));
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().authorizations[1]["scope"], "read write");
    // A scope that was granted and is refused again needs the person too: they may have to ask for more rights.
    assert_eq!(
        case.gateway.handle_challenge(&slug(), &resource.url, "Bearer", StatusCode::UNAUTHORIZED).await,
        Ok(ChallengeOutcome::RetryRequest)
    );
    let error = wants(&case.gateway, "write").await.unwrap_err();
    assert!(error.message.contains("were granted: write"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("run `toolway mcp login server`"));
    // With a person there it is asked for at once.
    case.terminal.token(&slug(), &resource.url).await.unwrap();
    assert_eq!(wants(&case.terminal, "admin").await, Ok(ChallengeOutcome::RetryRequest));
    assert_eq!(server.state.lock().authorizations[2]["scope"], "read write admin");
}

/// MCP 2026-07-28, "Scope Selection Strategy": a server may accept `initialize` without a token and name its scopes and
/// its metadata when the tools are listed.
#[tokio::test]
async fn a_challenge_of_any_request_is_met_by_the_next_login_in_another_program() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    resource.state.lock().metadata = json!({ "scopes_supported": ["profile"] });
    let case = OauthHarness::new();
    let refuse = async |status, said: &str| {
        let said = said.replace("URL", &resource.url);
        case.gateway.handle_challenge(&slug(), &resource.url, &said, status).await
    };
    let said = "Bearer scope=\"basic\", resource_metadata=\"URL/metadata\"";
    assert_eq!(refuse(StatusCode::UNAUTHORIZED, said).await, Ok(ChallengeOutcome::NeedsLogin));
    assert!(case.terminal.has_recorded_challenge(&slug(), &resource.url).await.unwrap());
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().authorizations[0]["scope"], "basic");
    assert_eq!(resource.state.lock().metadata_requests, ["/mcp/metadata"]);
    assert!(!case.terminal.has_recorded_challenge(&slug(), &resource.url).await.unwrap());
    assert_eq!(refuse(StatusCode::UNAUTHORIZED, "Bearer").await, Ok(ChallengeOutcome::RetryRequest));
    // Two tools that want different scopes: the next login asks for both, and for what was granted.
    for scope in ["write", "delete"] {
        let said = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        let error = refuse(StatusCode::FORBIDDEN, &said).await.unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("run `toolway mcp login server`"), "{error}");
    }
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().authorizations[1]["scope"], "basic write delete");
    let last = resource.state.lock().metadata_requests.last().cloned();
    assert_eq!(last.as_deref(), Some("/mcp/metadata"), "the address of the first challenge is kept");
}

#[tokio::test]
async fn a_scope_challenge_without_a_token_or_without_scopes_needs_a_login() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    let refuse =
        async |status, said: &str| case.gateway.handle_challenge(&slug(), &resource.url, said, status).await;
    let said = "Bearer error=\"insufficient_scope\", scope=\"basic\"";
    assert_eq!(refuse(StatusCode::FORBIDDEN, said).await, Ok(ChallengeOutcome::NeedsLogin));
    case.login(&resource).await.unwrap();
    assert_eq!(server.state.lock().authorizations[0]["scope"], "basic");
    refuse(StatusCode::UNAUTHORIZED, "Bearer").await.unwrap();
    for status in [StatusCode::FORBIDDEN, StatusCode::UNAUTHORIZED] {
        let error = refuse(status, "Bearer error=\"insufficient_scope\"").await.unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("run `toolway mcp login server`"), "{status} {error}");
    }
    // A refusal that names no scope problem is not one of the login.
    let error = refuse(StatusCode::FORBIDDEN, "Bearer").await.unwrap_err();
    assert_eq!(error.hint, None, "{error}");
}

#[tokio::test]
async fn a_person_is_not_sent_to_sign_in_without_end() {
    let server = FakeAuthServer::start().await;
    let resource = FakeResourceServer::start(&[&server]).await;
    let case = OauthHarness::new();
    let mut ends = Vec::new();
    for _ in 0..5 {
        let said =
            case.terminal.handle_challenge(&slug(), &resource.url, "Bearer", StatusCode::UNAUTHORIZED).await;
        ends.push(said.is_ok());
    }
    assert_eq!(ends, [true, true, true, false, false]);
    assert_eq!(case.browser.visits.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_server_of_the_oldest_kind_is_its_own_authorization_server() {
    let server = FakeAuthServer::start().await;
    let resource =
        FakeResourceServer { url: format!("{}/mcp", server.url), ..FakeResourceServer::start(&[]).await };
    let kept = OauthHarness::new().login(&resource).await.unwrap();
    assert_eq!(kept.issuer(), server.url);
    assert_eq!(server.state.lock().authorizations[0]["resource"], resource.url);
}

#[tokio::test]
async fn a_probe_reads_what_the_server_wants() {
    let resource = FakeResourceServer::start(&[]).await;
    let said = OauthHarness::new().terminal.probe(&resource.url).await.unwrap().unwrap();
    assert_eq!(said.scopes(), ["from-the-challenge"]);
}

#[tokio::test]
async fn tokens_that_cannot_be_sent_and_answers_that_are_none_are_refused() {
    for token in [
        json!({ "access_token": "two\nlines" }),
        json!({ "access_token": "" }),
        json!({ "access_token": "x".repeat(20_000) }),
        json!({ "access_token": null }),
        json!({ "token_type": "DPoP" }),
        json!({ "access_token": "x".repeat(300_000) }),
    ] {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        server.state.lock().token = token.clone();
        let error = OauthHarness::new().login(&resource).await.unwrap_err();
        assert!(matches!(error, OauthError::BadAnswer { .. }), "{error}");
        assert!(!error.to_string().contains("access-1") && !error.to_string().contains("xxx"), "{error}");
    }
}

/// (`expires_in`, how long the token is held for good, in milliseconds)
#[tokio::test]
async fn lives_are_read_as_servers_write_them() {
    for (written, life) in [
        (json!(3600), Some(3_600_000)),
        (json!("60"), Some(60_000)),
        (json!(0), None),
        (json!(-5), None),
        (json!("soon"), None),
        (json!(1e300), Some(31_536_000_000)),
        (Value::Null, None),
    ] {
        let server = FakeAuthServer::start().await;
        let resource = FakeResourceServer::start(&[&server]).await;
        server.state.lock().token = json!({ "expires_in": written });
        let case = OauthHarness::new();
        let kept = case.login(&resource).await.unwrap();
        assert_eq!(kept.expires_ms().map(|at| at - case.clock.now_ms()), life, "{written}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let error = OauthHarness::new().terminal.probe(&url).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
}
