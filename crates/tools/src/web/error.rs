//! Errors of requests. Messages contain only host and port of a URL, because paths and queries may contain
//! secrets, and never the value of a header.

use std::error::Error;
use std::io;

use reqwest::Url;
use rustls::CertificateError;
use toolway_types::{Code, ToolError};

use super::host_and_port::host_and_port;

/// Kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebErrorKind {
    /// The request is invalid.
    BadRequest,
    /// The address is not allowed.
    Refused,
    /// The name has no address.
    Dns,
    /// The host refused the connection.
    ConnectionRefused,
    /// The host or network is unreachable.
    Unreachable,
    /// The connection timed out.
    ConnectTimeout,
    /// The certificate is invalid.
    Certificate,
    /// Another TLS failure.
    Tls,
    /// The connection was closed early.
    Reset,
    /// The response is not HTTP.
    Malformed,
    /// The redirect cannot be followed.
    BadRedirect,
    /// There are too many redirects.
    TooManyRedirects,
}

/// A request without a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WebError {
    /// Kind of failure.
    pub kind: WebErrorKind,
    /// Description of the failure.
    pub message: String,
    /// Next step for the caller.
    pub hint: Option<String>,
    /// True if a part of the request may have reached a server.
    pub sent: bool,
}

impl WebError {
    pub(super) fn new(kind: WebErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, sent: false }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Marks the request as partly sent.
    pub(super) fn mark_sent(mut self) -> Self {
        self.sent = true;
        self
    }

    /// Adds to the message that the failure came after redirects.
    pub(super) fn after_redirects(mut self, redirects: u32, first: &str) -> Self {
        if redirects > 0 {
            self.message = format!("Redirected from {first}: {}", self.message);
            self.sent = true;
        }
        self
    }
}

impl From<WebError> for ToolError {
    fn from(error: WebError) -> Self {
        let code = match error.kind {
            WebErrorKind::BadRequest => Code::InvalidArguments,
            WebErrorKind::Refused => Code::Denied,
            _ => Code::Network,
        };
        let mut said = Self::new(code, error.message).with_dispatched(error.sent);
        said.hint = error.hint;
        // The same request would fail again.
        if matches!(
            error.kind,
            WebErrorKind::Certificate | WebErrorKind::BadRedirect | WebErrorKind::TooManyRedirects
        ) {
            said.retryable = false;
        }
        said
    }
}

/// Error of a body that ends early.
pub(super) fn body_error(url: &Url, read: usize, error: &reqwest::Error) -> WebError {
    let mut fault = transport_error(url, error).mark_sent();
    if fault.kind == WebErrorKind::Reset {
        fault.message =
            format!("The connection to {} was closed after {read} bytes of the body", host_and_port(url));
    }
    fault
}

/// Error of a request without a response.
pub(super) fn transport_error(url: &Url, error: &reqwest::Error) -> WebError {
    if error.is_builder() {
        let message = format!("The request to {} cannot be sent", host_and_port(url));
        return WebError::new(WebErrorKind::BadRequest, message);
    }
    let fault = error_from_causes(&host_and_port(url), error, error.is_connect());
    if error.is_connect() { fault } else { fault.mark_sent() }
}

fn error_from_causes(place: &str, error: &(dyn Error + 'static), connecting: bool) -> WebError {
    if let Some(tls) = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return tls_error(place, tls);
    }
    let mut of_system = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    if let Some(fault) = of_system.find_map(|error| io_error(place, error, connecting)) {
        return fault;
    }
    if let Some(http) = causes(error).find_map(|cause| cause.downcast_ref::<hyper::Error>())
        && let Some(fault) = http_error(place, http)
    {
        return fault;
    }
    let last = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    if !connecting {
        return WebError::new(WebErrorKind::Reset, format!("The connection to {place} failed: {last}"));
    }
    // The library's own error type is private, so only its text can be checked.
    if last.contains("timed out") || last.contains("deadline") {
        return timeout_error(place);
    }
    WebError::new(WebErrorKind::Unreachable, format!("No connection to {place}: {last}"))
}

fn io_error(place: &str, error: &io::Error, connecting: bool) -> Option<WebError> {
    use io::ErrorKind as Kind;
    let fault = |kind, message| Some(WebError::new(kind, message));
    match error.kind() {
        Kind::ConnectionRefused => fault(
            WebErrorKind::ConnectionRefused,
            format!("{place} refused the connection; no server listens there"),
        ),
        Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown | Kind::AddrNotAvailable => {
            fault(WebErrorKind::Unreachable, format!("{place} is unreachable: {error}"))
        }
        Kind::TimedOut if connecting => Some(timeout_error(place)),
        Kind::UnexpectedEof if connecting => {
            fault(WebErrorKind::Tls, format!("TLS with {place} failed: the server closed the connection"))
        }
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::UnexpectedEof
        | Kind::TimedOut => fault(WebErrorKind::Reset, format!("The connection to {place} failed: {error}")),
        _ if connecting && error.raw_os_error().is_some() => {
            fault(WebErrorKind::Unreachable, format!("{place} is unreachable: {error}"))
        }
        _ => None,
    }
}

fn http_error(place: &str, error: &hyper::Error) -> Option<WebError> {
    if error.is_parse_too_large() {
        let message = format!("The response of {place} has too many or too long headers");
        Some(WebError::new(WebErrorKind::Malformed, message))
    } else if error.is_parse() {
        Some(WebError::new(WebErrorKind::Malformed, format!("The response of {place} is not HTTP: {error}")))
    } else if error.is_incomplete_message() {
        let message = format!("{place} closed the connection before the response was complete");
        Some(WebError::new(WebErrorKind::Reset, message))
    } else {
        None
    }
}

fn timeout_error(place: &str) -> WebError {
    WebError::new(WebErrorKind::ConnectTimeout, format!("The connection to {place} timed out"))
}

fn tls_error(place: &str, error: &rustls::Error) -> WebError {
    let certificate = |what: &str| {
        let message = format!("No secure connection to {place}: its certificate {what}");
        WebError::new(WebErrorKind::Certificate, message)
    };
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => certificate("has expired"),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                certificate("is not valid yet")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                certificate("is for another name")
            }
            CertificateError::UnknownIssuer => certificate("was issued by an unknown authority"),
            CertificateError::Revoked => certificate("was revoked"),
            other => certificate(&format!("is not trusted ({other:?})")),
        },
        rustls::Error::InvalidMessage(_) => {
            WebError::new(WebErrorKind::Tls, format!("{place} does not speak TLS; it may be an http address"))
        }
        other => WebError::new(WebErrorKind::Tls, format!("TLS with {place} failed: {other}")),
    }
}

/// Iterates over an error and its causes. An I/O error does not report the error it contains as its cause,
/// but only that error's cause.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map(|held| held as &(dyn Error + 'static)).or_else(|| <dyn Error>::source(*error))
    })
}

#[cfg(test)]
mod tests;
