//! What went wrong between this program and the gateway, in words.

use std::error::Error;
use std::io;

use reqwest::StatusCode;
use rustls::{CertificateError, OtherError};
use toolway_api::ErrorResponse;
use toolway_device::trust::KeyMismatch;

use super::TokenLocation;
use crate::error::CliError;

/// How much of an answer that is not the gateway's is shown.
const MAX_BODY_CHARS: usize = 200;

/// The request did not get through.
pub(super) fn transport_error(url: &str, error: &reqwest::Error) -> CliError {
    if let Some(tls) = rustls_error(error) {
        return tls_error(url, tls);
    }
    if error.is_connect() {
        return CliError::new(format!("no gateway answers at {url}: {}", innermost(error)))
            .with_code("unreachable")
            .with_hint("`toolway serve` starts one; --gateway URL names another");
    }
    if error.is_timeout() {
        return CliError::new(format!("the gateway at {url} took too long to answer"))
            .with_code("unreachable")
            .with_hint("its log may say why; `toolway doctor` looks at it");
    }
    CliError::new(format!("the connection to the gateway at {url} was lost: {}", innermost(error)))
        .with_code("connection_lost")
        .with_hint("`toolway calls list` shows what became of a call that was under way")
}

fn tls_error(url: &str, error: &rustls::Error) -> CliError {
    if let Some(mismatch) = key_mismatch(error) {
        return CliError::new(format!(
            "the key of what answers at {url} is {}, not {} as it should be; nothing was sent to it",
            mismatch.found, mismatch.expected
        ))
        .with_code("key_changed")
        .with_hint("where the gateway was set up anew, `toolway pair` on it shows its key; else something stands in between");
    }
    let failure = CliError::new(format!("no secure connection to {url}: {error}")).with_code("tls");
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => failure.with_hint(
            "a gateway with a key of its own is named with --key sha256:… as `toolway pair` shows it; a \
             certificate of your own authority with --ca FILE",
        ),
        rustls::Error::InvalidMessage(_) => {
            failure.with_hint("what answers there does not speak TLS; try http://")
        }
        _ => failure
            .with_hint("check the address and the gateway's certificate (`toolway doctor` on its computer)"),
    }
}

/// The gateway, or something in front of it, said no.
pub(super) fn response_error(url: &str, status: StatusCode, body: &str, token: &TokenLocation) -> CliError {
    let Ok(ErrorResponse { error }) = serde_json::from_str(body) else {
        let shown = body.trim();
        let shown = shown.get(..shown.floor_char_boundary(MAX_BODY_CHARS)).unwrap_or_default();
        let said = if shown.is_empty() { String::new() } else { format!(": {shown}") };
        return CliError::new(format!("{url} answered {status}{said}"))
            .with_code("not_a_gateway")
            .with_hint("check that a Toolway gateway answers there");
    };
    let failure = CliError::new(error.message).with_code(error.code);
    let own = error.hint.is_some();
    let failure = failure.with_optional_hint(error.hint);
    match status {
        StatusCode::UNAUTHORIZED => failure.with_hint(format!("the token came from {token}")),
        StatusCode::FORBIDDEN => {
            failure.with_hint("on the gateway's own computer the owner's token is found by itself")
        }
        StatusCode::BAD_REQUEST if !own => {
            failure.with_hint("correct what the command was given; --help says what it takes")
        }
        _ if !own => {
            failure.with_hint("the gateway's log may say more; `toolway doctor` looks at what can be wrong")
        }
        _ => failure,
    }
}

/// The error of TLS among the causes.
fn rustls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn key_mismatch(error: &rustls::Error) -> Option<&KeyMismatch> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other))) => other.downcast_ref(),
        _ => None,
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

/// What the system said in the end.
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
    fn the_gateways_words_are_passed_on() {
        let body = r#"{"error":{"code":"device_not_found","message":"there is no device \"x\"","hint":"list them"}}"#;
        let failure = response_error("http://h", StatusCode::NOT_FOUND, body, &TokenLocation::EnvVar);
        assert_eq!(failure.code(), "device_not_found");
        assert_eq!(failure.render_text(false), "error: there is no device \"x\"\nhint: list them\n");
    }

    #[test]
    fn a_refused_token_says_where_it_came_from() {
        let body = r#"{"error":{"code":"token_unknown","message":"no such token"}}"#;
        let place = TokenLocation::DataFolder(PathBuf::from("/data/owner.token"));
        let said = response_error("http://h", StatusCode::UNAUTHORIZED, body, &place).render_text(false);
        assert!(said.contains("hint: the token came from /data/owner.token"), "{said}");
    }

    #[test]
    fn answers_of_others_are_shown_in_part() {
        let said =
            response_error("http://h", StatusCode::BAD_GATEWAY, &"é".repeat(500), &TokenLocation::EnvVar);
        let text = said.render_text(false);
        assert!(
            text.starts_with(&format!("error: http://h answered 502 Bad Gateway: {}\n", "é".repeat(100))),
            "{text}"
        );
    }
}
