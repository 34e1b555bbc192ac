//! The middleware of every request: finds the client behind proxies, checks host and origin, logs, and adds the headers
//! that every response has.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL, CONNECTION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use tokio::time::Instant;
use tracing::Instrument;

use super::{ApiError, response_memory, unread_body};
use crate::access::ConnectionInfo;
use crate::access::origin::VerifiedOrigin;
use crate::state::AppState;

const REQUEST_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The request headers that the gateway reads.
const ALLOWED_HEADERS: [&str; 9] = [
    "authorization",
    "content-type",
    "x-pairing-code",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    toolway_wire::TIME_ZONE_HEADER,
];
/// The response headers that a web page may read, besides those that every page may.
const EXPOSED_HEADERS: &str = "mcp-session-id, www-authenticate";
/// Prefixes of other headers that a web page may send: OpenAI's libraries describe themselves in some, and MCP clients
/// repeat arguments in others.
const ALLOWED_HEADER_PREFIXES: [&str; 2] = ["x-stainless-", "mcp-param-"];

/// Maximum size of an unread body that is read to its end, in multiples of the largest frame.
const MAX_DISCARDED_FRAMES: usize = 4;

/// Passes a request to its resource, or rejects it.
pub(crate) async fn guard(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    // Only the path, because queries may contain tokens.
    let path = request.uri().path().to_owned();
    let span = tracing::debug_span!("request", %method, path, from = tracing::field::Empty);
    let (request, unread) = unread_body::track_body(request);
    let (request, counter) = response_memory::prepare(request);
    let response = check_and_run(&app, request, next).instrument(span.clone()).await;
    let mut response = counter.count(&app, response);
    let status = response.status();
    // The rest of a body that did not arrive in time will not arrive now.
    if let Some(unread) = unread.filter(|_| status != StatusCode::REQUEST_TIMEOUT) {
        let most = app.settings.limits.frame_bytes.saturating_mul(MAX_DISCARDED_FRAMES);
        unread.discard(most, app.settings.timeouts.request_s.duration()).await;
    }
    if status == StatusCode::REQUEST_TIMEOUT {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    }
    tracing::debug!(parent: &span, status = status.as_u16(), took_us = started.elapsed().as_micros(), "answered");
    response
}

async fn check_and_run(app: &AppState, mut request: Request, next: Next) -> Response {
    let Some(connection) = request.extensions().get::<ConnectionInfo>().copied() else {
        // This happens only with a listener other than the gateway's own.
        return ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the addresses of the connection are missing",
        )
        .into_response();
    };
    let client = app.access.proxies.client(&connection, request.headers());
    tracing::Span::current().record("from", tracing::field::display(client.ip));
    let target = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let local = connection.local.ip();
    let checked = app.access.origins.check(request.headers(), target.as_deref(), &client, local).await;
    let VerifiedOrigin { listed_origin, host } = match checked {
        Ok(checked) => checked,
        Err(bad) => {
            app.metrics.record_refusal(bad.code());
            return ApiError::from(bad).into_response();
        }
    };
    request.extensions_mut().insert(client);
    request.extensions_mut().insert(host);
    let Some(origin) = listed_origin.and_then(|origin| HeaderValue::from_str(&origin).ok()) else {
        return next.run(request).await;
    };
    let mut response =
        if is_preflight(&request) { preflight_response(&request) } else { next.run(request).await };
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    response.headers_mut().insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
    response
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Returns the headers that a page may send: those that the gateway reads, and requested ones that start with
/// one of the [`ALLOWED_HEADER_PREFIXES`].
fn allowed_headers(request: &Request) -> HeaderValue {
    let asked = request.headers().get_all(ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
    let asked = asked.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(',')).map(str::trim);
    let is_open = |name: &str| {
        ALLOWED_HEADER_PREFIXES.iter().any(|begins| name.to_ascii_lowercase().starts_with(begins))
    };
    let theirs = asked.filter(|name| is_open(name));
    let names = ALLOWED_HEADERS.into_iter().chain(theirs).collect::<Vec<_>>().join(", ");
    HeaderValue::try_from(names).unwrap_or(HeaderValue::from_static("authorization, content-type"))
}

/// The response to a preflight request of an allowed web page.
fn preflight_response(request: &Request) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(request));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if request.headers().contains_key(REQUEST_PRIVATE_NETWORK) {
        headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    response
}
