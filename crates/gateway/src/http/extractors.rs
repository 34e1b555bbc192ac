//! Extractors for bodies, queries and paths, with error messages that name the mistake.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use toolway_types::json::{MAX_VALUES, has_more_values_than, nests_deeper_than};
use toolway_types::{Principal, foreign_json};
use toolway_wire::MAX_DEPTH;

use super::ApiError;
use super::error::internal;
use crate::memory_budget::{MemoryAccount, MemoryReservation, OverBudget, cost};
use crate::peer_connection::PeerConnection;
use crate::state::{AppState, RouterState};

/// Size above which bodies are parsed on a blocking thread, in bytes.
const PARSE_BLOCKING_THRESHOLD: usize = 256 << 10;

/// Maximum time for a large body to arrive, while some of it arrives within each `timeouts.request_s`.
const LARGE_BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Size of a body above which it is large, in bytes.
const LARGE_BODY: usize = 64 << 10;

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
        let body = read_small_body(&state.0, &parts, body).await?;
        parse_json(&body.bytes).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<RouterState> for OptionalJsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, state: &RouterState) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let body = read_small_body(&state.0, &parts, body).await?;
        parse_optional_json(&body.bytes).map(Self)
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

/// A body that has arrived, with the memory that it takes. Keep it while the body is used.
#[derive(Debug)]
pub(crate) struct ReceivedBody {
    pub(crate) bytes: Bytes,
    pub(crate) memory: Option<MemoryReservation>,
}

/// Reads the body of a principal's request, of at most `limits.frame_bytes`.
///
/// # Errors
/// 413 if it is longer, 408 if it takes longer, 400 if it is incomplete, 503 if there is no memory for it.
pub(crate) async fn read_large_body(
    app: &AppState,
    principal: &Principal,
    headers: &HeaderMap,
    body: Body,
) -> Result<ReceivedBody, ApiError> {
    read_counted(app, Some(&app.memory.open(principal)), headers, body, app.settings.limits.frame_bytes).await
}

/// Reads a body of at most `limits.body_bytes`. Bodies of requests without a token share a small part of the
/// memory. The number of a principal's connections limits the memory of its own.
async fn read_small_body(app: &AppState, parts: &Parts, body: Body) -> Result<ReceivedBody, ApiError> {
    let is_identified = parts.extensions.get::<PeerConnection>().is_some_and(PeerConnection::is_identified);
    let account = (!is_identified).then(|| app.memory.open_anonymous());
    read_counted(app, account.as_ref(), &parts.headers, body, app.settings.limits.body_bytes).await
}

/// Reads a body, and counts it in an account. Each part must arrive within `timeouts.request_s`, and so must the
/// whole, unless it is large.
async fn read_counted(
    app: &AppState,
    account: Option<&MemoryAccount>,
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<ReceivedBody, ApiError> {
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
    let part_timeout = app.settings.timeouts.request_s.duration();
    let started = Instant::now();
    let mut body = Limited::new(body, most);
    let mut arrived = ArrivedBody::default();
    let mut memory = account.map(|account| account.reserve(0)).transpose().map_err(no_memory)?;
    let evicted = async {
        match account {
            Some(account) => account.closed().await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(evicted);
    loop {
        let time = match arrived.len() > LARGE_BODY {
            true => part_timeout.min(LARGE_BODY_TIMEOUT.saturating_sub(started.elapsed())),
            false => part_timeout.saturating_sub(started.elapsed()),
        };
        let next = tokio::select! {
            next = tokio::time::timeout(time, body.frame()) => next,
            () = &mut evicted => return Err(no_memory(OverBudget::Closed)),
        };
        match next {
            Ok(None) => {
                let bytes = arrived.into_bytes();
                if let Some(memory) = &mut memory {
                    memory.resize(cost::kept_json(&bytes)).map_err(no_memory)?;
                }
                return Ok(ReceivedBody { bytes, memory });
            }
            Ok(Some(Ok(frame))) => {
                // Trailers are not used.
                if let Ok(part) = frame.into_data() {
                    arrived.push(part);
                }
                if let Some(memory) = &mut memory {
                    memory.resize(cost::unfinished(arrived.len())).map_err(no_memory)?;
                }
            }
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_large()),
            Ok(Some(Err(error))) => {
                return Err(ApiError::malformed(format!("the body is incomplete: {error}")));
            }
            Err(_) => {
                let words = "the body took too long to arrive";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "request_timeout", words)
                    .with_hint("send it again; the limit is the setting timeouts.request_s"));
            }
        }
    }
}

/// The answer to a request for which there is no memory.
pub(super) fn no_memory(refusal: OverBudget) -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "out_of_memory", refusal.to_string())
        .with_hint("send less at a time, or retry later; the limit is the setting limits.memory_bytes")
}

/// The part of a body that has arrived. A body of one part is not copied.
#[derive(Default)]
struct ArrivedBody {
    first: Bytes,
    /// All bytes, if there are several parts.
    joined: BytesMut,
}

impl ArrivedBody {
    fn push(&mut self, part: Bytes) {
        if self.first.is_empty() {
            self.first = part;
            return;
        }
        if self.joined.is_empty() {
            self.joined.extend_from_slice(&self.first);
        }
        self.joined.extend_from_slice(&part);
    }

    fn len(&self) -> usize {
        self.joined.len().max(self.first.len())
    }

    fn into_bytes(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

/// Parses a body with `parse`, on a blocking thread if it is large, so that it delays nobody else.
///
/// # Errors
/// Those of `parse`, or 500 if it panicked.
pub async fn parse_apart<T, E>(
    app: &AppState,
    principal: &Principal,
    body: Bytes,
    parse: impl FnOnce(&[u8]) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<ApiError> + Send + 'static,
{
    if body.len() <= PARSE_BLOCKING_THRESHOLD {
        return parse(&body);
    }
    let parsed = app.parse_jobs.run(&principal.id.0, move || parse(&body)).await;
    parsed.map_err(|error| E::from(internal(&error)))?
}

/// Refuses a body with very many JSON values before it is parsed.
///
/// # Errors
/// 400 with the limit.
pub fn check_value_count(body: &[u8]) -> Result<(), ApiError> {
    if has_more_values_than(body, MAX_VALUES) {
        let words = format!("the body has more than {MAX_VALUES} JSON values");
        return Err(
            ApiError::malformed(words).with_hint("send large data as one text, or in several requests")
        );
    }
    Ok(())
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
    let text = String::from_utf8_lossy(bytes);
    // The parser skips values that are kept as text, at any depth. Nothing else could parse them again.
    if nests_deeper_than(&text, MAX_DEPTH) {
        let words = format!("the body is nested deeper than {MAX_DEPTH} levels");
        return Err(ApiError::malformed(words).with_hint("send deep values as JSON in a string"));
    }
    check_value_count(bytes)?;
    foreign_json::from_str(&text).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Data => "the body has the wrong form",
            _ => "the body is not JSON",
        };
        ApiError::malformed(format!("{what}: {error}")).with_hint("/api/openapi.json describes the body")
    })
}
