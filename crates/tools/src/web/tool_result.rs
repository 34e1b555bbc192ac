//! Converts a response to the result of a call.

use reqwest::Url;
use serde_json::Value;
use toolway_types::{Code, JsonObject, RawJson, ToolError};

use super::rendered_response::RenderedResponse;
use super::response::WebResponse;

/// Length of the body in the message of an error status, in bytes.
const BODY_IN_MESSAGE: usize = 4 * 1024;
/// Length of the headers in the message of an error status, in bytes.
const HEADERS_IN_MESSAGE: usize = 2 * 1024;

/// Creates `{status, headers, body}`, with `url` if redirects led away from `asked`, `body_cut` and
/// `body_bytes` (the complete length, null if unknown) if the body is truncated, `headers_omitted` and
/// `notes`.
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

/// Creates the error for an error status. It contains the status, and the start of headers and body.
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

/// A text, or its start with a mark.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let kept = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
    format!("{kept}…\n[cut: the first {} of {} bytes are shown]", kept.len(), text.len())
}
