//! Protocol versions: the supported ones, the choice in a handshake, and the two eras.

use rmcp::ErrorData;
use rmcp::model::{ProtocolVersion, RequestMetaObject};

/// The supported versions, oldest first.
pub(crate) const SUPPORTED_VERSIONS: &[ProtocolVersion] = ProtocolVersion::KNOWN_VERSIONS;

/// Returns true for 2026-07-28 and later, where each request stands for itself.
pub(crate) fn is_modern(version: &ProtocolVersion) -> bool {
    !version.has_initialize()
}

/// The version of a session whose client requested this one: the same if it is supported and has a handshake,
/// otherwise the newest with a handshake.
pub(crate) fn negotiate(requested: &str) -> ProtocolVersion {
    let known = SUPPORTED_VERSIONS.iter().find(|version| version.as_str() == requested);
    known
        .filter(|version| version.has_initialize())
        .cloned()
        .unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// Checks that a version is supported.
///
/// # Errors
/// The error with all supported versions.
pub(crate) fn check_supported(version: &ProtocolVersion) -> Result<(), ErrorData> {
    if SUPPORTED_VERSIONS.contains(version) {
        return Ok(());
    }
    Err(ErrorData::unsupported_protocol_version(version.clone(), SUPPORTED_VERSIONS))
}

/// Checks that a request describes its client, as every request without a session must.
///
/// # Errors
/// The error that names the missing fields.
pub(crate) fn check_client_description(meta: &RequestMetaObject) -> Result<(), ErrorData> {
    if meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty() {
        return Ok(());
    }
    Err(missing_client_description(meta))
}

/// The error that names the missing fields of a client's description.
pub(crate) fn missing_client_description(meta: &RequestMetaObject) -> ErrorData {
    let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).join(", ");
    let words = format!("request _meta is missing or has malformed required fields: {missing}");
    ErrorData::invalid_params(words, None)
}

#[cfg(test)]
mod tests;
