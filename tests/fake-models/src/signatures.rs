//! What the providers sign and want to see again: thinking, and the calls that came of it. A signature is made of what
//! it signs, so that it can be checked without remembering anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The signature of a thinking part by its text.
pub(crate) fn sign_thinking(text: &str) -> String {
    derive_signature("thinking", text)
}

/// Thinking that can't be read, as `redacted_thinking` carries it or `encrypted_content`.
pub(crate) fn hide_thinking(id: &str) -> String {
    format!("{}.{}", STANDARD.encode(id), derive_signature("hidden", id))
}

/// Whether this is what [`hidden`] made, for whatever id.
pub(crate) fn is_hidden(data: &str) -> bool {
    let Some((id, _)) = data.split_once('.') else { return false };
    let id = STANDARD.decode(id).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    id.is_some_and(|id| hide_thinking(&id) == data)
}

/// Gemini's signature of a function call.
pub(crate) fn sign_call(name: &str, arguments: &serde_json::Value) -> String {
    derive_signature("call", &format!("{name}\n{arguments}"))
}

/// Gemini's signature of a text.
pub(crate) fn sign_text() -> String {
    derive_signature("text", "")
}

/// Whether a signature is the right one. Bytes may come back in either alphabet of base64.
pub(crate) fn is_valid_signature(given: &str, right: &str) -> bool {
    given.replace('-', "+").replace('_', "/").trim_end_matches('=') == right.trim_end_matches('=')
}

/// Longer than a digest, as real ones are.
fn derive_signature(what: &str, of: &str) -> String {
    let digest = Sha256::new().chain_update(what).chain_update([0]).chain_update(of).finalize();
    STANDARD.encode([b"fake-models:".as_slice(), &digest].concat())
}
