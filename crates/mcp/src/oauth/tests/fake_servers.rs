//! An MCP server that wants tokens and its authorization servers, on loopback ports, answering as a test wants it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use base64::Engine as _;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

pub(super) type FormFields = HashMap<String, String>;

/// How an authorization server answers, and what it was asked.
#[derive(Debug, Default)]
pub(super) struct FakeAuthState {
    /// Put over the metadata; null takes a member away.
    pub(super) metadata: Value,
    /// Put over what a registration is answered with.
    pub(super) registration: Value,
    /// Put over what a token request is answered with.
    pub(super) token: Value,
    /// Answers token requests with this in place of a token.
    pub(super) token_error: Option<(u16, Value)>,
    /// Sends token requests there.
    pub(super) redirect: Option<String>,
    /// The `iss` of its answers; its own where not set, none where empty.
    pub(super) iss: Option<String>,
    pub(super) registrations: Vec<Value>,
    pub(super) authorizations: Vec<FormFields>,
    pub(super) token_requests: Vec<(FormFields, Option<String>)>,
    /// The nonce that proofs must contain.
    pub(super) nonce: Option<String>,
    /// The proofs of token requests.
    pub(super) proofs: Vec<String>,
    /// Access tokens that count.
    pub(super) valid_tokens: HashSet<String>,
    /// Refresh tokens that can be used, each once.
    refresh: HashSet<String>,
    challenges: HashMap<String, String>,
    issued: usize,
}

#[derive(Clone)]
pub(super) struct FakeAuthServer {
    pub(super) url: String,
    pub(super) state: Arc<Mutex<FakeAuthState>>,
}

/// Puts one document over another.
fn merge(mut base: Value, top: &Value) -> Value {
    if let (Some(base), Some(top)) = (base.as_object_mut(), top.as_object()) {
        for (key, value) in top {
            if value.is_null() {
                base.remove(key);
            } else {
                base.insert(key.clone(), value.clone());
            }
        }
    }
    base
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

impl FakeAuthServer {
    pub(super) async fn start() -> Self {
        let state: Arc<Mutex<FakeAuthState>> = Arc::default();
        let url: Arc<std::sync::OnceLock<String>> = Arc::default();
        let router = Router::new()
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state((Arc::clone(&state), Arc::clone(&url)));
        let address = serve(router).await;
        url.set(address.clone()).unwrap();
        Self { url: address, state }
    }
}

type FakeAuthRouteState = State<(Arc<Mutex<FakeAuthState>>, Arc<std::sync::OnceLock<String>>)>;

async fn metadata(State((state, url)): FakeAuthRouteState) -> Json<Value> {
    let url = url.get().unwrap();
    let document = json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "registration_endpoint": format!("{url}/register"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    });
    Json(merge(document, &state.lock().metadata))
}

async fn register(State((state, _)): FakeAuthRouteState, Json(asked): Json<Value>) -> Response {
    let mut state = state.lock();
    state.registrations.push(asked);
    let made = json!({ "client_id": format!("client-{}", state.registrations.len()) });
    (StatusCode::CREATED, Json(merge(made, &state.registration))).into_response()
}

async fn authorize(State((state, url)): FakeAuthRouteState, Query(asked): Query<FormFields>) -> Redirect {
    let mut state = state.lock();
    let code = format!("code-{}", state.authorizations.len());
    state.challenges.insert(code.clone(), asked["code_challenge"].clone());
    let iss = match &state.iss {
        None => url.get().unwrap().clone(),
        Some(iss) => iss.clone(),
    };
    let mut back = reqwest::Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut().append_pair("code", &code).append_pair("state", &asked["state"]);
    if !iss.is_empty() {
        back.query_pairs_mut().append_pair("iss", &iss);
    }
    state.authorizations.push(asked);
    Redirect::to(back.as_str())
}

async fn token(State((state, _)): FakeAuthRouteState, headers: HeaderMap, body: String) -> Response {
    assert_eq!(headers["content-type"], "application/x-www-form-urlencoded");
    let asked: FormFields = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let mut state = state.lock();
    let authorization = headers.get("authorization").map(|it| it.to_str().unwrap().to_owned());
    state.token_requests.push((asked.clone(), authorization));
    if let Some(to) = &state.redirect {
        return Redirect::temporary(to).into_response();
    }
    if let Some(proof) = headers.get("dpop").map(|it| it.to_str().unwrap().to_owned()) {
        let claims =
            base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(proof.split('.').nth(1).unwrap());
        let claims: Value = serde_json::from_slice(&claims.unwrap()).unwrap();
        state.proofs.push(proof);
        if let Some(nonce) = state.nonce.clone().filter(|nonce| claims["nonce"] != **nonce) {
            let error = Json(json!({ "error": "use_dpop_nonce" }));
            return (StatusCode::BAD_REQUEST, [("dpop-nonce", nonce)], error).into_response();
        }
    }
    if let Some((status, answer)) = &state.token_error {
        return (StatusCode::from_u16(*status).unwrap(), Json(answer.clone())).into_response();
    }
    let fine = match asked["grant_type"].as_str() {
        "authorization_code" => {
            let hash = digest(&SHA256, asked["code_verifier"].as_bytes());
            let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash);
            state.challenges.remove(&asked["code"]) == Some(challenge)
        }
        "refresh_token" => state.refresh.remove(&asked["refresh_token"]),
        "client_credentials" => true,
        name if name.ends_with(":jwt-bearer") || name.ends_with(":token-exchange") => true,
        _ => false,
    };
    if !fine {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response();
    }
    state.issued += 1;
    let (access, refresh) = (format!("access-{}", state.issued), format!("refresh-{}", state.issued));
    state.valid_tokens = HashSet::from([access.clone()]);
    state.refresh.insert(refresh.clone());
    let answer = json!({
        "access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
    });
    Json(merge(answer, &state.token)).into_response()
}

/// An MCP server that names an authorization server.
#[derive(Clone)]
pub(super) struct FakeResourceServer {
    pub(super) url: String,
    pub(super) state: Arc<Mutex<FakeResourceState>>,
}

#[derive(Debug, Default)]
pub(super) struct FakeResourceState {
    pub(super) issuers: Vec<String>,
    /// Put over its metadata.
    pub(super) metadata: Value,
    /// The paths at which its metadata was requested.
    pub(super) metadata_requests: Vec<String>,
    /// Answers in its stead.
    pub(super) override_response: Option<(u16, &'static str)>,
}

impl FakeResourceServer {
    pub(super) async fn start(issuers: &[&FakeAuthServer]) -> Self {
        let issuers = issuers.iter().map(|it| it.url.clone()).collect();
        let state = Arc::new(Mutex::new(FakeResourceState { issuers, ..FakeResourceState::default() }));
        let url: Arc<std::sync::OnceLock<String>> = Arc::default();
        let of = (Arc::clone(&state), Arc::clone(&url));
        let document = move |at: http::Uri| {
            let (state, url) = of.clone();
            async move {
                let mut state = state.lock();
                state.metadata_requests.push(at.path().to_owned());
                if let Some((status, text)) = state.override_response {
                    return (StatusCode::from_u16(status).unwrap(), text).into_response();
                }
                let document = json!({
                    "resource": format!("{}/mcp", url.get().unwrap()),
                    "authorization_servers": state.issuers,
                });
                Json(merge(document, &state.metadata)).into_response()
            }
        };
        let wants = (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer scope=\"from-the-challenge\"")]);
        let router = Router::new()
            .route("/.well-known/oauth-protected-resource/mcp", get(document.clone()))
            .route("/mcp/metadata", get(document))
            .route("/mcp", any(move || async move { wants }));
        let address = serve(router).await;
        url.set(address.clone()).unwrap();
        Self { url: format!("{address}/mcp"), state }
    }
}
