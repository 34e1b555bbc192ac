//! Error responses of the token endpoint and of client registration.

use reqwest::Url;
use serde::Deserialize;

use super::error::{OauthError, sanitize};
use super::transport::{BufferedResponse, bad_answer, without_query};

#[derive(Deserialize)]
struct TokenErrorResponse {
    error: String,
    #[serde(default)]
    error_description: Option<String>,
}

/// The error code of an error response, if it has one.
pub(super) fn error_code(answer: &BufferedResponse) -> Option<String> {
    Some(serde_json::from_slice::<TokenErrorResponse>(&answer.body).ok()?.error)
}

/// Reads an error response (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
pub(super) fn to_oauth_error(url: &Url, answer: &BufferedResponse) -> OauthError {
    let status = answer.status;
    if status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS {
        return OauthError::Unreachable {
            url: without_query(url),
            problem: format!("it answers with {}", status.as_u16()),
        };
    }
    match serde_json::from_slice::<TokenErrorResponse>(&answer.body) {
        Ok(no) => OauthError::Refused {
            code: sanitize(&no.error),
            description: no.error_description.as_deref().map(sanitize),
        },
        Err(_) => bad_answer(url, &format!("it answers with {}", status.as_u16())),
    }
}
