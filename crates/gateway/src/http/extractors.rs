//! Extractors for bodies, queries and paths, with error messages that name the mistake.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use toolway_types::json::nests_deeper_than;
use toolway_wire::MAX_DEPTH;

use super::ApiError;
use crate::state::RouterState;

/// The time that a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// A JSON body of at most `limits.body_bytes`.
#[derive(Debug, Clone, Copy)]
pub struct JsonBody<T>(pub T);

/// A JSON body that may be missing.
#[derive(Debug, Clone, Copy)]
pub struct OptionalJsonBody<T>(pub Option<T>);

/// The fields of the query.
#[derive(Debug, Clone, Copy)]
pub struct QueryParams<T>(pub T);

/// The variable parts of the path.
#[derive(Debug, Clone, Copy)]
pub struct PathParams<T>(pub T);

impl<T: DeserializeOwned> FromRequest<RouterState> for JsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, state: &RouterState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        expect_json(&parts.headers)?;
        let bytes = read_body(&parts.headers, body, state.0.settings.limits.body_bytes).await?;
        parse_json(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<RouterState> for OptionalJsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, state: &RouterState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = read_body(&parts.headers, body, state.0.settings.limits.body_bytes).await?;
        parse_optional_json(&bytes).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(error) => Err(ApiError::malformed(format!("the query: {}", error.body_text()))
                .with_hint("/api/openapi.json describes the query")),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(path)) => Ok(Self(path)),
            Err(error) => Err(ApiError::malformed(format!("the path: {}", error.body_text()))),
        }
    }
}

/// Refuses a body whose content type is not JSON.
///
/// # Errors
/// 415 with a hint.
pub fn expect_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let given = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let essence = given.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = essence == "application/json"
        || essence.strip_prefix("application/").is_some_and(|rest| rest.ends_with("+json"));
    if is_json {
        return Ok(());
    }
    let message = match given {
        None => "the header Content-Type is missing".to_owned(),
        Some(given) => format!("the body is {given}, not JSON"),
    };
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
        .with_hint("send a JSON body with the header Content-Type: application/json"))
}

/// Reads a body of at most `most` bytes, within a minute.
///
/// # Errors
/// 413 if it is longer, 408 if it takes longer, 400 if it is incomplete.
pub async fn read_body(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, ApiError> {
    let too_large = || {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            format!("the body is larger than {most} bytes"),
        )
        .with_hint("send less; the owner can raise the limit in the gateway's settings")
    };
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > most as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(ApiError::malformed(format!("the body is incomplete: {error}"))),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "request_timeout",
            "the body took too long to arrive",
        )),
    }
}

/// Parses an optional JSON body.
///
/// # Errors
/// 400 with the problem and its position.
pub fn parse_optional_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<T>, ApiError> {
    if bytes.is_empty() { Ok(None) } else { parse_json(bytes).map(Some) }
}

/// Parses a JSON body.
///
/// # Errors
/// 400 with the problem and its position.
pub fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // Serde would also accept an array of the fields in order, but no client means that.
    if bytes.trim_ascii_start().first().is_some_and(|first| matches!(first, b'[' | b'"')) {
        let words = "the body has the wrong form: it must be a JSON object";
        return Err(ApiError::malformed(words).with_hint("/api/openapi.json describes the body"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        ApiError::malformed(format!("the body is not JSON: {error}")).with_hint("send it in UTF-8")
    })?;
    // The parser skips values that are kept as text, at any depth. Nothing else could parse them again.
    if nests_deeper_than(text, MAX_DEPTH) {
        let words = format!("the body is nested deeper than {MAX_DEPTH} levels");
        return Err(ApiError::malformed(words).with_hint("send deep values as JSON in a string"));
    }
    serde_json::from_str(text).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Data => "the body has the wrong form",
            _ => "the body is not JSON",
        };
        ApiError::malformed(format!("{what}: {error}")).with_hint("/api/openapi.json describes the body")
    })
}
