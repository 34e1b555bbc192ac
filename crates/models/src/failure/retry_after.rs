//! The delay before a retry that a provider asks for in its headers.

use std::time::Duration;

use http::{HeaderMap, HeaderName, header};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Reads `retry-after-ms`, or `Retry-After` (RFC 9110, section 10.2.3) in seconds or as a date. A date is compared with
/// the response's own `Date`, so that wrong clocks do not matter.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text(RETRY_AFTER_MS).and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    let after = text(header::RETRY_AFTER)?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let now = httpdate::parse_http_date(text(header::DATE)?).ok()?;
    let then = httpdate::parse_http_date(after).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

/// Reads `x-should-retry`, which overrides the meaning of a status (OpenAI, Anthropic).
pub(super) fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get(SHOULD_RETRY)?.as_bytes() {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}
