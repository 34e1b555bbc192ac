//! Masks the values of secret names in text that contains JSON. The text may be cut, malformed, or have other text around
//! the JSON, because models and tools write such text, and it is stored too. Everything else keeps its bytes.

use std::borrow::Cow;

use super::REDACTED_TEXT;

/// Maximum depth of JSON within strings of JSON.
const MAX_DEPTH: usize = 4;
/// Maximum length of a cut escape sequence at the end of a text: half of a surrogate pair.
const MAX_CUT_ESCAPE: usize = 11;

/// Replaces the value after each secret name.
pub(super) fn mask_json<'t>(text: &'t str, is_secret: &dyn Fn(&str) -> bool) -> Cow<'t, str> {
    mask_at_depth(text, is_secret, 0)
}

fn mask_at_depth<'t>(text: &'t str, is_secret: &dyn Fn(&str) -> bool, depth: usize) -> Cow<'t, str> {
    let (mut masked, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(start) = find_quote(text, at) {
        let end = end_of_string(text, start);
        let token = text.get(start..end).unwrap_or_default();
        let colon = skip_white_space(text, end);
        let (from, to, replacement) = if text.as_bytes().get(colon) == Some(&b':') {
            if !unescape(token).is_some_and(|name| is_secret(&name)) {
                at = colon + 1;
                continue;
            }
            let value = skip_white_space(text, colon + 1);
            (value, end_of_value(text, value), format!("\"{REDACTED_TEXT}\""))
        } else {
            // A string that is not a name can contain JSON.
            let inner = Some(token).filter(|it| depth < MAX_DEPTH && it.contains(r#"\""#)).and_then(unescape);
            let changed = inner.as_deref().map(|inner| mask_at_depth(inner, is_secret, depth + 1));
            let Some(Cow::Owned(changed)) = changed else {
                at = end;
                continue;
            };
            (start, end, serde_json::Value::from(changed).to_string())
        };
        masked.push_str(text.get(copied..from).unwrap_or_default());
        masked.push_str(&replacement);
        (copied, at) = (to, to);
    }
    if copied == 0 && masked.is_empty() {
        return Cow::Borrowed(text);
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(masked)
}

fn find_quote(text: &str, from: usize) -> Option<usize> {
    text.get(from..)?.find('"').map(|at| from + at)
}

/// Returns the position after the string that starts at `start`; the end of the text if it is cut.
fn end_of_string(text: &str, start: usize) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the position after the value that starts at `start`.
fn end_of_value(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    match bytes.get(start) {
        Some(b'"') => end_of_string(text, start),
        Some(b'{' | b'[') => {
            let (mut depth, mut at) = (0_usize, start);
            while let Some(byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = end_of_string(text, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
            at
        }
        _ => {
            let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
            bytes.iter().skip(start).position(is_end).map_or(text.len(), |length| start + length)
        }
    }
}

fn skip_white_space(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Returns the content of a string token, which may be cut.
fn unescape(token: &str) -> Option<String> {
    if let Ok(text) = serde_json::from_str(token) {
        return Some(text);
    }
    (0..=MAX_CUT_ESCAPE).find_map(|cut| {
        let start = token.get(..token.len().checked_sub(cut)?)?;
        serde_json::from_str(&format!("{start}\"")).ok()
    })
}
