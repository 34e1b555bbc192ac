//! What went wrong between this program and the gateway, in words.

use std::error::Error;
use std::io;

use reqwest::StatusCode;
use rustls::{CertificateError, OtherError};
use serde::Deserialize;
use toolway_device::trust::KeyMismatch;

use super::TokenPlace;
use crate::report::Failure;

/// How much of an answer that is not the gateway's is shown.
const SHOWN: usize = 200;

#[derive(Deserialize)]
struct Body {
    error: Words,
}

#[derive(Deserialize)]
struct Words {
    code: String,
    message: String,
    hint: Option<String>,
}

/// The request did not get through.
pub(super) fn of_transport(url: &str, error: &reqwest::Error) -> Failure {
    if let Some(tls) = rustls_error(error) {
        return of_tls(url, tls);
    }
    if error.is_connect() {
        return Failure::new(format!("no gateway answers at {url}: {}", innermost(error)))
            .code("unreachable")
            .hint("`toolway serve` starts one; --gateway URL names another");
    }
    if error.is_timeout() {
        return Failure::new(format!("the gateway at {url} took too long to answer"))
            .code("unreachable")
            .hint("its log may say why; `toolway doctor` looks at it");
    }
    Failure::new(format!("the connection to the gateway at {url} was lost: {}", innermost(error)))
        .code("connection_lost")
        .hint("`toolway calls list` shows what became of a call that was under way")
}

fn of_tls(url: &str, error: &rustls::Error) -> Failure {
    if let Some(mismatch) = key_mismatch(error) {
        return Failure::new(format!(
            "the key of what answers at {url} is {}, not {} as it should be; nothing was sent to it",
            mismatch.found, mismatch.expected
        ))
        .code("key_changed")
        .hint("where the gateway was set up anew, `toolway pair` on it shows its key; else something stands in between");
    }
    let failure = Failure::new(format!("no secure connection to {url}: {error}")).code("tls");
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => failure.hint(
            "a gateway with a key of its own is named with --key sha256:… as `toolway pair` shows it; a \
             certificate of your own authority with --ca FILE",
        ),
        rustls::Error::InvalidMessage(_) => {
            failure.hint("what answers there does not speak TLS; try http://")
        }
        _ => {
            failure.hint("check the address and the gateway's certificate (`toolway doctor` on its computer)")
        }
    }
}

/// The gateway, or something in front of it, said no.
pub(super) fn of_answer(url: &str, status: StatusCode, body: &str, token: &TokenPlace) -> Failure {
    let Ok(Body { error }) = serde_json::from_str(body) else {
        let shown = body.trim();
        let shown = shown.get(..shown.floor_char_boundary(SHOWN)).unwrap_or_default();
        let said = if shown.is_empty() { String::new() } else { format!(": {shown}") };
        return Failure::new(format!("{url} answered {status}{said}"))
            .code("not_a_gateway")
            .hint("check that a Toolway gateway answers there");
    };
    let failure = Failure::new(error.message).code(error.code);
    let own = error.hint.is_some();
    let failure = failure.maybe_hint(error.hint);
    match status {
        StatusCode::UNAUTHORIZED => failure.hint(format!("the token came from {token}")),
        StatusCode::FORBIDDEN => {
            failure.hint("on the gateway's own computer the owner's token is found by itself")
        }
        StatusCode::BAD_REQUEST if !own => {
            failure.hint("correct what the command was given; --help says what it takes")
        }
        _ if !own => {
            failure.hint("the gateway's log may say more; `toolway doctor` looks at what can be wrong")
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
        Some(last) => last.downcast_ref::<io::Error>().map_or_else(|| last.to_string(), crate::report::plain),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_gateways_words_are_passed_on() {
        let body =
            r#"{"error":{"code":"device_unknown","message":"there is no device \"x\"","hint":"list them"}}"#;
        let failure = of_answer("http://h", StatusCode::NOT_FOUND, body, &TokenPlace::Variable);
        assert_eq!(failure.word(), "device_unknown");
        assert_eq!(failure.for_people(false), "error: there is no device \"x\"\nhint: list them\n");
    }

    #[test]
    fn a_refused_token_says_where_it_came_from() {
        let body = r#"{"error":{"code":"token_unknown","message":"no such token"}}"#;
        let place = TokenPlace::Folder(PathBuf::from("/data/owner.token"));
        let said = of_answer("http://h", StatusCode::UNAUTHORIZED, body, &place).for_people(false);
        assert!(said.contains("hint: the token came from /data/owner.token"), "{said}");
    }

    #[test]
    fn answers_of_others_are_shown_in_part() {
        let said = of_answer("http://h", StatusCode::BAD_GATEWAY, &"é".repeat(500), &TokenPlace::Variable);
        let text = said.for_people(false);
        assert!(
            text.starts_with(&format!("error: http://h answered 502 Bad Gateway: {}\n", "é".repeat(100))),
            "{text}"
        );
    }
}
