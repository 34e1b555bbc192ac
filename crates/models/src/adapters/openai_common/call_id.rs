//! Ids of tool calls in a history that goes back to a server.

use std::borrow::Cow;

use toolway_types::{CallId, RawJson};

use crate::config::CallIdFormat;
use crate::message::ToolCall;

/// Maximum length of an id at OpenAI.
const MAX_ID_CHARS: usize = 40;

/// Returns the id under which a server knows a call: its own if it gave one, else ours.
pub(crate) fn wire_call_id<'a>(call: &'a ToolCall, provider: &str, form: CallIdFormat) -> Cow<'a, str> {
    let own = call.opaque.as_ref().and_then(|opaque| opaque.for_provider(provider));
    match own.and_then(provider_id) {
        Some(id) if is_valid_id(&id, form) => id,
        _ => generate_id(call.id, form),
    }
}

fn provider_id(data: &RawJson) -> Option<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct ProviderCallId<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    data.to_borrowed::<ProviderCallId<'_>>().ok().map(|data| data.id)
}

fn is_valid_id(id: &str, form: CallIdFormat) -> bool {
    match form {
        CallIdFormat::Any => !id.is_empty(),
        CallIdFormat::NineAlphanumeric => {
            id.len() == NINE_ALPHANUMERIC_CHARS && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    }
}

fn generate_id(id: CallId, form: CallIdFormat) -> Cow<'static, str> {
    match form {
        CallIdFormat::Any => {
            let mut text = id.to_string();
            text.truncate(MAX_ID_CHARS);
            Cow::Owned(text)
        }
        CallIdFormat::NineAlphanumeric => Cow::Owned(nine_alphanumeric(id)),
    }
}

const NINE_ALPHANUMERIC_CHARS: usize = 9;

/// Returns nine letters and digits from the random part of an id.
fn nine_alphanumeric(id: CallId) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let bytes = id.as_bytes();
    let mut number = bytes.iter().skip(8).fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
    let mut text = String::with_capacity(NINE_ALPHANUMERIC_CHARS);
    for _ in 0..NINE_ALPHANUMERIC_CHARS {
        let digit = usize::try_from(number % 62).unwrap_or_default();
        text.push(char::from(DIGITS.get(digit).copied().unwrap_or(b'0')));
        number /= 62;
    }
    text
}

#[cfg(test)]
mod tests;
