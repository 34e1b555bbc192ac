//! Selects the result from a response, and masks secrets that the server echoes.

use secrecy::ExposeSecret;
use serde_json::Value;
use toolway_types::{Code, RawJson, ToolError};

use super::text_template::SecretMap;
use crate::web::{RenderedResponse, WebResponse};

/// Minimum length of a masked secret, in bytes. A shorter one could occur by chance.
const MIN_MASKED_LENGTH: usize = 6;

/// Masks secrets in a text.
fn mask(text: &str, secrets: &SecretMap) -> String {
    let mut text = text.to_owned();
    for (name, secret) in secrets {
        let secret = secret.expose_secret();
        if secret.len() >= MIN_MASKED_LENGTH && text.contains(secret) {
            text = text.replace(secret, &format!("[secret {name}]"));
        }
    }
    text
}

/// Masks secrets in a rendered response.
pub(super) fn mask_response(mut shown: RenderedResponse, secrets: &SecretMap) -> RenderedResponse {
    shown.body = mask(&shown.body, secrets);
    shown.headers.values_mut().for_each(|value| mask_json(value, secrets));
    shown
}

fn mask_json(value: &mut Value, secrets: &SecretMap) {
    match value {
        Value::String(text) => *text = mask(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_json(item, secrets)),
        Value::Object(members) => members.values_mut().for_each(|member| mask_json(member, secrets)),
        _ => {}
    }
}

/// Selects the part of a JSON response at a pointer.
pub(super) fn json_part(
    answer: &WebResponse,
    pointer: &str,
    secrets: &SecretMap,
) -> Result<RawJson, ToolError> {
    let failed = |message: String| Err(ToolError::new(Code::ToolFailed, message).with_dispatched(true));
    if answer.body.cut {
        let message =
            format!("The response is longer than {} bytes, so it was not read", answer.body.bytes.len());
        return Err(ToolError::new(Code::OutputTooLarge, message)
            .with_hint("The limit is the setting tools.http_request.body_bytes")
            .with_dispatched(true));
    }
    let whole = if answer.body.bytes.is_empty() {
        Value::Null
    } else {
        match serde_json::from_slice::<Value>(answer.body.bytes.trim_ascii()) {
            Ok(value) => value,
            Err(error) => return failed(format!("The response ({}) is not JSON: {error}", answer.status)),
        }
    };
    match whole.pointer(pointer) {
        None => failed(format!("The response ({}) has no value at {pointer:?}", answer.status)),
        Some(part) => {
            let mut part = part.clone();
            mask_json(&mut part, secrets);
            Ok(RawJson::from(&part))
        }
    }
}
