//! Protected resource metadata (RFC 9728): a document that tells MCP clients the authorization server, and the header
//! that leads to it. Without an issuer in the settings, these paths do not exist.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Extensions, HeaderValue, StatusCode, Uri};
use serde_json::json;

use super::ApiError;
use super::error::{self, InsufficientScopeMarker};
use crate::access::authentication::is_for_mcp;
use crate::access::{EffectiveClient, TokenIssuer};
use crate::net::address::UriAuthority;
use crate::state::{AppState, RouterState};

/// Path of the document (RFC 9728, section 3).
const WELL_KNOWN_PATH: &str = "/.well-known/oauth-protected-resource";
/// Path of the resource that tokens are for. All MCP entry points are below it.
pub(crate) const RESOURCE: &str = "/mcp";

/// Returns the routes of the document, and the MCP entry points with the header on their rejections.
pub(super) fn routes(app: &Arc<AppState>, endpoints: Router<RouterState>) -> Router<RouterState> {
    let endpoints = match app.access.issuer {
        Some(_) => endpoints.layer(middleware::from_fn_with_state(Arc::clone(app), add_auth_challenge)),
        None => endpoints,
    };
    endpoints
        .route(WELL_KNOWN_PATH, get(document))
        .route(&format!("{WELL_KNOWN_PATH}/{{*path}}"), get(document_of))
}

async fn document(
    State(app): State<Arc<AppState>>,
    uri: Uri,
    extensions: Extensions,
) -> Result<Json<serde_json::Value>, ApiError> {
    let Some(issuer) = &app.access.issuer else { return Err(error::no_such_path(uri).await) };
    let mut document = json!({
        "resource": format!("{}{RESOURCE}", base_url(&app, &extensions)),
        "resource_name": "Toolway",
        "authorization_servers": [issuer.url()],
        "bearer_methods_supported": ["header"],
    });
    if let Some(document) = document.as_object_mut().filter(|_| !issuer.scopes().is_empty()) {
        document.insert("scopes_supported".to_owned(), issuer.scopes().into());
    }
    Ok(Json(document))
}

/// Returns the document of one of the entry points. It is the same for all, because a token is valid for all
/// of them.
async fn document_of(
    State(app): State<Arc<AppState>>,
    Path(path): Path<String>,
    uri: Uri,
    extensions: Extensions,
) -> Result<Json<serde_json::Value>, ApiError> {
    if is_for_mcp(&format!("/{path}")) {
        return document(State(app), uri, extensions).await;
    }
    Err(error::no_such_path(uri).await)
}

/// Adds the URL of the document to rejections.
async fn add_auth_challenge(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let Some(issuer) = &app.access.issuer else { return next.run(request).await };
    let had_token = request.headers().contains_key(AUTHORIZATION);
    let place = format!("{}{WELL_KNOWN_PATH}{}", base_url(&app, request.extensions()), RESOURCE);
    let mut response = next.run(request).await;
    let error = match response.status() {
        StatusCode::UNAUTHORIZED if had_token => Some("invalid_token"),
        StatusCode::UNAUTHORIZED => None,
        StatusCode::FORBIDDEN if response.extensions().get::<InsufficientScopeMarker>().is_some() => {
            Some("insufficient_scope")
        }
        _ => return response,
    };
    if let Some(value) = challenge(issuer, &place, error) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    response
}

/// Creates the header (RFC 6750, section 3; RFC 9728, section 5.1). The quoted values never need escaping.
fn challenge(issuer: &TokenIssuer, place: &str, error: Option<&str>) -> Option<HeaderValue> {
    let mut text = format!("Bearer resource_metadata=\"{place}\"");
    if let Some(error) = error {
        text.push_str(&format!(", error=\"{error}\""));
    }
    if !issuer.scopes().is_empty() {
        text.push_str(&format!(", scope=\"{}\"", issuer.scopes().join(" ")));
    }
    HeaderValue::try_from(text).ok()
}

/// Returns the gateway's base URL for clients: the one in the settings, or the one of this request.
fn base_url(app: &AppState, of: &Extensions) -> String {
    if let Some(url) = &app.settings.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let https = of.get::<EffectiveClient>().is_some_and(|client| client.https);
    let scheme = if https { "https" } else { "http" };
    match of.get::<UriAuthority>() {
        Some(host) => format!("{scheme}://{host}"),
        None => app.address.own_url(),
    }
}
