//! Why there is no answer, in words. Addresses are named by host and port alone, since paths and queries may
//! hold secrets, and what a header holds is never said.

use std::error::Error;
use std::io;

use reqwest::Url;
use rustls::CertificateError;
use toolway_types::{Code, ToolError};

use super::host_and_port::host_and_port;

/// Which way it went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebErrorKind {
    /// The request can't be sent as it is.
    BadRequest,
    /// It leads where it may not.
    Refused,
    /// The name has no address.
    Dns,
    /// Nobody listens there.
    ConnectionRefused,
    /// No way leads there.
    Unreachable,
    /// Nobody took the connection in time.
    ConnectTimeout,
    /// The other side is not who it should be.
    Certificate,
    /// TLS failed otherwise.
    Tls,
    /// The connection broke off.
    Reset,
    /// What came is not HTTP.
    Malformed,
    /// A redirect that can't be followed.
    BadRedirect,
    /// One redirect after the other.
    TooManyRedirects,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WebError {
    /// Which way it went wrong.
    pub kind: WebErrorKind,
    /// In words.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Whether some of the request may have reached a server.
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

    /// Says that some of the request may have reached a server.
    pub(super) fn mark_sent(mut self) -> Self {
        self.sent = true;
        self
    }

    /// Says that it happened where redirects led to.
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
        // The same request would fail in the same way.
        if matches!(
            error.kind,
            WebErrorKind::Certificate | WebErrorKind::BadRedirect | WebErrorKind::TooManyRedirects
        ) {
            said.retryable = false;
        }
        said
    }
}

/// The body broke off.
pub(super) fn body_error(url: &Url, read: usize, error: &reqwest::Error) -> WebError {
    let mut fault = transport_error(url, error).mark_sent();
    if fault.kind == WebErrorKind::Reset {
        fault.message =
            format!("The connection to {} broke off after {read} bytes of the body", host_and_port(url));
    }
    fault
}

/// No answer came.
pub(super) fn transport_error(url: &Url, error: &reqwest::Error) -> WebError {
    if error.is_builder() {
        let message = format!("The address can't be requested from {}", host_and_port(url));
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
        return WebError::new(WebErrorKind::Reset, format!("The connection to {place} broke off: {last}"));
    }
    // The library's own error for it can't be named; its text is all there is.
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
            format!("{place} refused the connection: nothing listens there"),
        ),
        Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown | Kind::AddrNotAvailable => {
            fault(WebErrorKind::Unreachable, format!("{place} can't be reached: {error}"))
        }
        Kind::TimedOut if connecting => Some(timeout_error(place)),
        Kind::UnexpectedEof if connecting => {
            fault(WebErrorKind::Tls, format!("TLS with {place} failed: the server closed the connection"))
        }
        Kind::ConnectionReset
        | Kind::ConnectionAborted
        | Kind::BrokenPipe
        | Kind::UnexpectedEof
        | Kind::TimedOut => {
            fault(WebErrorKind::Reset, format!("The connection to {place} broke off: {error}"))
        }
        _ if connecting && error.raw_os_error().is_some() => {
            fault(WebErrorKind::Unreachable, format!("{place} can't be reached: {error}"))
        }
        _ => None,
    }
}

fn http_error(place: &str, error: &hyper::Error) -> Option<WebError> {
    if error.is_parse_too_large() {
        let message = format!("The headers of {place}'s answer are too many or too long");
        Some(WebError::new(WebErrorKind::Malformed, message))
    } else if error.is_parse() {
        Some(WebError::new(WebErrorKind::Malformed, format!("What {place} answers is not HTTP: {error}")))
    } else if error.is_incomplete_message() {
        let message = format!("{place} closed the connection before its answer was whole");
        Some(WebError::new(WebErrorKind::Reset, message))
    } else {
        None
    }
}

fn timeout_error(place: &str) -> WebError {
    WebError::new(WebErrorKind::ConnectTimeout, format!("{place} did not take the connection in time"))
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
            CertificateError::UnknownIssuer => certificate("comes from an authority that is not known here"),
            CertificateError::Revoked => certificate("was revoked"),
            other => certificate(&format!("can't be trusted ({other:?})")),
        },
        rustls::Error::InvalidMessage(_) => {
            WebError::new(WebErrorKind::Tls, format!("{place} does not speak TLS; it may be an http address"))
        }
        other => WebError::new(WebErrorKind::Tls, format!("TLS with {place} failed: {other}")),
    }
}

/// An error, what is inside of it, and so on. Errors of input and output do not count what they hold as their
/// cause, but its cause as theirs.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map(|held| held as &(dyn Error + 'static)).or_else(|| <dyn Error>::source(*error))
    })
}

#[cfg(test)]
mod tests;
