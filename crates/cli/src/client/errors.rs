//! Describes errors between this program and the gateway.

use std::error::Error;
use std::io;

use reqwest::StatusCode;
use rustls::{CertificateError, OtherError};
use toolway_api::ErrorResponse;
use toolway_device::trust::KeyMismatch;

use super::TokenLocation;
use crate::error::CliError;

/// Maximum number of bytes to show of a response that is not from a gateway.
const MAX_BODY_CHARS: usize = 200;

/// Describes a request that did not get a response.
pub(super) fn transport_error(url: &str, error: &reqwest::Error) -> CliError {
    if let Some(tls) = rustls_error(error) {
        return tls_error(url, tls);
    }
    if error.is_connect() {
        return CliError::new(format!("cannot connect to a gateway at {url}: {}", innermost(error)))
            .with_code("unreachable")
            .with_hint("start one with `toolway serve`, or select another with --gateway URL");
    }
    if error.is_timeout() {
        return CliError::new(format!("the gateway at {url} did not respond in time"))
            .with_code("unreachable")
            .with_hint("check the gateway's log, or run `toolway doctor`");
    }
    CliError::new(format!("the connection to the gateway at {url} was lost: {}", innermost(error)))
        .with_code("connection_lost")
        .with_hint("`toolway calls list` shows the result of an interrupted call")
}

fn tls_error(url: &str, error: &rustls::Error) -> CliError {
    if let Some(mismatch) = key_mismatch(error) {
        return CliError::new(format!(
            "the server at {url} has the key {}, expected {}; nothing was sent to it",
            mismatch.found, mismatch.expected
        ))
        .with_code("key_changed")
        .with_hint("if the gateway was reinstalled, get its new key with `toolway pair` there; otherwise someone may intercept the connection");
    }
    let failure = CliError::new(format!("cannot make a TLS connection to {url}: {error}")).with_code("tls");
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => failure.with_hint(
            "for a self-signed gateway, use --key sha256:… as `toolway pair` shows it; for your own certificate \
             authority, use --ca FILE",
        ),
        rustls::Error::InvalidMessage(_) => {
            failure.with_hint("the server does not support TLS; try http://")
        }
        _ => failure
            .with_hint("check the address and the gateway's certificate (`toolway doctor` on its computer)"),
    }
}

/// Describes an error response of the gateway or of a proxy in front of it.
pub(super) fn response_error(url: &str, status: StatusCode, body: &str, token: &TokenLocation) -> CliError {
    let Ok(ErrorResponse { error }) = serde_json::from_str(body) else {
        let shown = body.trim();
        let shown = shown.get(..shown.floor_char_boundary(MAX_BODY_CHARS)).unwrap_or_default();
        let details = if shown.is_empty() { String::new() } else { format!(": {shown}") };
        return CliError::new(format!("{url} responded with {status}{details}"))
            .with_code("not_a_gateway")
            .with_hint("check that a Toolway gateway runs at this address");
    };
    let failure = CliError::new(error.message).with_code(error.code);
    let own = error.hint.is_some();
    let failure = failure.with_optional_hint(error.hint);
    match status {
        StatusCode::UNAUTHORIZED => failure.with_hint(format!("the token came from {token}")),
        StatusCode::FORBIDDEN => {
            failure.with_hint("run this on the gateway's computer to use the owner's token")
        }
        StatusCode::BAD_REQUEST if !own => failure.with_hint("correct the arguments; see --help"),
        _ if !own => failure.with_hint("check the gateway's log, or run `toolway doctor`"),
        _ => failure,
    }
}

/// Finds the TLS error among the causes.
fn rustls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn key_mismatch(error: &rustls::Error) -> Option<&KeyMismatch> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other))) => other.downcast_ref(),
        _ => None,
    }
}

/// Returns an error and all its causes. `io::Error` needs a special case: its `source` skips the error that it wraps.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        held.map(|held| held as &(dyn Error + 'static)).or_else(|| <dyn Error>::source(*error))
    })
}

/// Describes the innermost cause.
fn innermost(error: &reqwest::Error) -> String {
    match causes(error).last() {
        Some(last) => {
            last.downcast_ref::<io::Error>().map_or_else(|| last.to_string(), crate::error::io_error_message)
        }
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn error_messages_of_the_gateway_are_shown() {
        let body = r#"{"error":{"code":"device_not_found","message":"there is no device \"x\"","hint":"list them"}}"#;
        let failure = response_error("http://h", StatusCode::NOT_FOUND, body, &TokenLocation::EnvVar);
        assert_eq!(failure.code(), "device_not_found");
        assert_eq!(failure.render_text(false), "error: there is no device \"x\"\nhint: list them\n");
    }

    #[test]
    fn an_unauthorized_error_names_the_tokens_location() {
        let body = r#"{"error":{"code":"token_unknown","message":"no such token"}}"#;
        let place = TokenLocation::DataFolder(PathBuf::from("/data/owner.token"));
        let said = response_error("http://h", StatusCode::UNAUTHORIZED, body, &place).render_text(false);
        assert!(said.contains("hint: the token came from /data/owner.token"), "{said}");
    }

    #[test]
    fn responses_of_other_servers_are_shortened() {
        let said =
            response_error("http://h", StatusCode::BAD_GATEWAY, &"é".repeat(500), &TokenLocation::EnvVar);
        let text = said.render_text(false);
        assert!(
            text.starts_with(&format!(
                "error: http://h responded with 502 Bad Gateway: {}\n",
                "é".repeat(100)
            )),
            "{text}"
        );
    }
}
