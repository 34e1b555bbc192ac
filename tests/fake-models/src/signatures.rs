//! Signatures that providers require to be sent back: of thinking, and of calls after it. A signature is
//! derived from the signed content, so that it can be verified without state.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Returns the signature of a thinking part.
pub(crate) fn sign_thinking(text: &str) -> String {
    derive_signature("thinking", text)
}

/// Returns unreadable thinking, as in `redacted_thinking` or `encrypted_content`.
pub(crate) fn hide_thinking(id: &str) -> String {
    format!("{}.{}", STANDARD.encode(id), derive_signature("hidden", id))
}

/// Returns true if this was created by [`hide_thinking`] for any id.
pub(crate) fn is_hidden(data: &str) -> bool {
    let Some((id, _)) = data.split_once('.') else { return false };
    let id = STANDARD.decode(id).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    id.is_some_and(|id| hide_thinking(&id) == data)
}

/// Returns Gemini's signature of a function call.
pub(crate) fn sign_call(name: &str, arguments: &serde_json::Value) -> String {
    derive_signature("call", &format!("{name}\n{arguments}"))
}

/// Returns Gemini's signature of a text.
pub(crate) fn sign_text() -> String {
    derive_signature("text", "")
}

/// Returns true if a signature is correct. The bytes may be in either alphabet of base64.
pub(crate) fn is_valid_signature(given: &str, right: &str) -> bool {
    given.replace('-', "+").replace('_', "/").trim_end_matches('=') == right.trim_end_matches('=')
}

/// Returns a signature that is longer than a digest, like real ones.
fn derive_signature(what: &str, of: &str) -> String {
    let digest = Sha256::new().chain_update(what).chain_update([0]).chain_update(of).finalize();
    STANDARD.encode([b"fake-models:".as_slice(), &digest].concat())
}
