//! A response as a person or a model reads it: text is decoded, other content is described, and everything is
//! bounded.

use encoding_rs::{Encoding, UTF_8};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use toolway_types::JsonObject;

use super::response::{WebBody, WebResponse};

/// Maximum number of headers shown.
const MAX_HEADERS: usize = 64;
/// Maximum total length of their names and values, in bytes.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// Length of the start of a body of unknown type that is checked for text, in bytes.
const SNIFFED_BYTES: usize = 8 * 1024;

/// The readable form of a response.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedResponse {
    /// Headers by name; a header that occurs several times has a list of values.
    pub headers: JsonObject,
    /// Number of headers that are not shown.
    pub headers_omitted: usize,
    /// The body; if it is truncated, its last line says so.
    pub body: String,
    /// Notes about the body, for example on its encoding.
    pub notes: Vec<String>,
}

/// Renders a response.
#[must_use]
pub fn render_response(answer: &WebResponse) -> RenderedResponse {
    let (headers, headers_omitted) = render_headers(&answer.headers);
    let mut notes = Vec::new();
    let body = render_body(&answer.headers, &answer.body, &mut notes);
    RenderedResponse { headers, headers_omitted, body, notes }
}

fn render_headers(headers: &HeaderMap) -> (JsonObject, usize) {
    let (mut map, mut count, mut bytes) = (JsonObject::new(), 0, 0);
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        bytes += name.as_str().len() + value.len();
        if count == MAX_HEADERS || bytes > MAX_HEADER_BYTES {
            break;
        }
        count += 1;
        let value = Value::from(value);
        match map.get_mut(name.as_str()) {
            None => drop(map.insert(name.as_str().to_owned(), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(one) => *one = Value::from(vec![one.take(), value]),
        }
    }
    (map, headers.len() - count)
}

fn render_body(headers: &HeaderMap, body: &WebBody, notes: &mut Vec<String>) -> String {
    if body.bytes.is_empty() && !body.cut {
        return String::new();
    }
    let kind = ContentType::of(headers);
    let coding = text_of(headers, CONTENT_ENCODING).filter(|it| !it.trim().eq_ignore_ascii_case("identity"));
    if let Some(coding) = coding {
        notes.push("The server compressed the body although the request does not allow it".to_owned());
        return describe_binary(
            &format!("{} compressed with {}", kind.description(), truncate_value(&coding)),
            body,
        );
    }
    if !kind.is_text(&body.bytes) {
        return describe_binary(&kind.description(), body);
    }
    let mut text = decode_body(&kind, body, notes);
    if body.cut {
        let read = body.bytes.len();
        let of = body.total.map(|total| format!(" of {total}")).unwrap_or_default();
        text.push_str(&format!("\n[cut: the first {read}{of} bytes are shown]"));
    }
    text
}

fn describe_binary(kind: &str, body: &WebBody) -> String {
    let size = match (body.total, body.cut) {
        (Some(total), _) => format!("{total} bytes"),
        (None, true) => format!("more than {} bytes", body.bytes.len()),
        (None, false) => format!("{} bytes", body.bytes.len()),
    };
    format!("[binary: {kind}, {size}, not shown]")
}

/// Decodes the body in the charset of its byte order mark, else of its header, else in UTF-8.
fn decode_body(kind: &ContentType, body: &WebBody, notes: &mut Vec<String>) -> String {
    let named = kind.charset.as_deref().map(|label| (label, Encoding::for_label(label.as_bytes())));
    if let Some((label, None)) = named {
        notes
            .push(format!("The charset {} is unknown; the body was decoded as UTF-8", truncate_value(label)));
    }
    let named = named.and_then(|(_, encoding)| encoding).unwrap_or(UTF_8);
    let encoding = Encoding::for_bom(&body.bytes).map_or(named, |(encoding, _)| encoding);
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let room = decoder.max_utf8_buffer_length(body.bytes.len()).unwrap_or(body.bytes.len() * 3);
    let mut text = String::with_capacity(room);
    // A truncated body may end within a character, which is omitted.
    let (_, _, malformed) = decoder.decode_to_string(&body.bytes, &mut text, !body.cut);
    if malformed {
        notes.push(format!("Some bytes of the body are not {}; each is shown as \u{fffd}", encoding.name()));
    }
    text.shrink_to_fit();
    text
}

/// Media type of a body, if known.
struct ContentType {
    /// Media type in lower case, without parameters; empty if missing.
    media: String,
    charset: Option<String>,
}

impl ContentType {
    fn of(headers: &HeaderMap) -> Self {
        let text = text_of(headers, CONTENT_TYPE).unwrap_or_default();
        let mut parts = text.split(';');
        let media = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts
            .filter_map(|part| part.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned());
        Self { media, charset }
    }

    fn description(&self) -> String {
        if self.media.is_empty() { "unknown type".to_owned() } else { truncate_value(&self.media) }
    }

    /// True if the type and the start of the body indicate text.
    fn is_text(&self, bytes: &[u8]) -> bool {
        const TEXT: &[&str] = &[
            "application/graphql",
            "application/javascript",
            "application/json",
            "application/sql",
            "application/toml",
            "application/x-javascript",
            "application/x-ndjson",
            "application/x-sh",
            "application/x-www-form-urlencoded",
            "application/x-yaml",
            "application/xml",
            "application/yaml",
        ];
        let media = self.media.as_str();
        let says_text = media.starts_with("text/")
            || TEXT.contains(&media)
            || ["+json", "+xml", "+yaml"].iter().any(|suffix| media.ends_with(suffix));
        let wide = Encoding::for_bom(bytes).is_some()
            || self.charset.as_deref().is_some_and(|it| it.to_ascii_lowercase().starts_with("utf-16"));
        let start = bytes.get(..SNIFFED_BYTES.min(bytes.len())).unwrap_or_default();
        if start.contains(&0) && !wide {
            return false;
        }
        let family = media.split_once('/').map_or(media, |(family, _)| family);
        match family {
            _ if says_text => true,
            "image" | "audio" | "video" | "font" | "model" => false,
            // A body of unknown type is text if it is UTF-8, except for a truncated character at the end.
            _ => match std::str::from_utf8(start) {
                Ok(_) => true,
                Err(error) => error.error_len().is_none() && bytes.len() > SNIFFED_BYTES,
            },
        }
    }
}

fn text_of(headers: &HeaderMap, name: reqwest::header::HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn truncate_value(text: &str) -> String {
    text.get(..text.floor_char_boundary(80)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
