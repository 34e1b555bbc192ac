//! `POST /pair`: a one-time code for a token.

use serde::{Deserialize, Serialize};

/// The header that carries the code.
pub const CODE_HEADER: &str = "x-pairing-code";

/// What the device says of itself; bound to the token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRequest {
    /// An id that stays the same over restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Operating system and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairResponse {
    /// Always true in an answer of status 200.
    pub paired: bool,
    /// Whether the token outlives the gateway's process.
    pub persisted: bool,
    /// The token. Shown this once.
    pub token: String,
    /// In words.
    pub message: String,
}
