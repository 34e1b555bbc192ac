//! The `request_id` of a call: a UUID (CETP, section 2.3), because providers may parse it.

use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// Returns the id of a call as a UUID in its usual form. An id that is no UUID, for example from another gateway,
/// is hashed, so that a retry has the same one.
pub(super) fn request_id(call_id: &str) -> String {
    let id = Uuid::parse_str(call_id).unwrap_or_else(|_| {
        let mut bytes = [0; 16];
        for (byte, hashed) in bytes.iter_mut().zip(Sha256::digest(call_id)) {
            *byte = hashed;
        }
        Builder::from_custom_bytes(bytes).into_uuid()
    });
    id.hyphenated().to_string()
}

#[cfg(test)]
mod tests;
