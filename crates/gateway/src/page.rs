//! The page at `/`, which describes the gateway. It is compiled into the program, so no route reads files.

use axum::response::{Html, IntoResponse, Response};
use http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use http::{HeaderName, HeaderValue};

const PAGE: &str = include_str!("page.html");

/// Nothing may be loaded, run, framed or sent; only the style within the page applies.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCES: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Handles `GET /`.
pub(crate) async fn show() -> Response {
    let headers = [
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin")),
        (RESOURCES, HeaderValue::from_static("same-origin")),
    ];
    (headers, Html(PAGE)).into_response()
}
