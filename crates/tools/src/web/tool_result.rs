//! An answer as what a call ends in.

use reqwest::Url;
use serde_json::Value;
use toolway_types::{Code, JsonObject, RawJson, ToolError};

use super::rendered_response::RenderedResponse;
use super::response::WebResponse;

/// How much of a body stands in the message of a failing status, in bytes.
const BODY_IN_MESSAGE: usize = 4 * 1024;
/// How much of the headers stands there, in bytes.
const HEADERS_IN_MESSAGE: usize = 2 * 1024;

/// `{status, headers, body}`, with `url` where redirects led away from `asked`, `body_cut` and `body_bytes`
/// (the whole length, null where it is not known) where the body is longer than what is shown,
/// `headers_omitted` and `notes`.
#[must_use]
pub fn response_json(answer: &WebResponse, shown: RenderedResponse, asked: &Url) -> RawJson {
    let mut result = JsonObject::new();
    result.insert("status".to_owned(), answer.status.as_u16().into());
    if answer.url != *asked {
        result.insert("url".to_owned(), answer.url.as_str().into());
    }
    result.insert("headers".to_owned(), shown.headers.into());
    if shown.headers_omitted > 0 {
        result.insert("headers_omitted".to_owned(), shown.headers_omitted.into());
    }
    result.insert("body".to_owned(), shown.body.into());
    if answer.body.cut {
        result.insert("body_cut".to_owned(), true.into());
        result.insert("body_bytes".to_owned(), answer.body.total.into());
    }
    if !shown.notes.is_empty() {
        result.insert("notes".to_owned(), shown.notes.into());
    }
    RawJson::from(&Value::Object(result))
}

/// The error that a failing status is: with the status, and the beginnings of headers and body.
#[must_use]
pub fn status_error(answer: &WebResponse, shown: &RenderedResponse) -> ToolError {
    let mut headers = String::new();
    for (name, value) in &shown.headers {
        for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            headers.push_str(&format!("{name}: {}\n", value.as_str().unwrap_or_default()));
        }
    }
    let headers = cut(&headers, HEADERS_IN_MESSAGE);
    let body = cut(&shown.body, BODY_IN_MESSAGE);
    let message = format!("The server answered {}\n{}\n\n{body}", answer.status, headers.trim_end());
    let mut error = ToolError::new(Code::HttpStatus, message.trim_end()).with_dispatched(true);
    error.retryable = answer.status.is_server_error() || matches!(answer.status.as_u16(), 408 | 425 | 429);
    error
}

/// A text, or its beginning with a mark.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    format!("{kept}…\n[cut: the first {} of {} bytes are shown]", kept.len(), text.len())
}
