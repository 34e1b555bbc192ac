//! `/pair` and `/api/pair`.

use serde::{Deserialize, Serialize};

use crate::tokens::AssignableRole;

/// Schema of the body of `POST /pair`, which is a type of `toolway-wire`.
#[cfg(feature = "openapi")]
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = PairRequest)]
pub struct PairRequestSchema {
    /// An id that stays the same after restarts.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub device_id: Option<String>,
    /// A display name.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub name: Option<String>,
    /// Operating system and version.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub platform: Option<String>,
}

/// Schema of the response of `POST /pair`, which is a type of `toolway-wire`.
#[cfg(feature = "openapi")]
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = PairResponse)]
pub struct PairResponseSchema {
    /// Always true.
    pub paired: bool,
    /// True if the token stays valid after a restart of the gateway.
    pub persisted: bool,
    /// The token's text. No other response contains it.
    pub token: String,
    /// The result for people.
    pub message: String,
}

/// Body of `POST /api/pair`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreatePairingCodeRequest {
    /// The role of the future token; default: `device`.
    #[serde(default = "default_role")]
    pub role: AssignableRole,
    /// A display name; default: the device's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub label: Option<String>,
    /// The only agent that the future token may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub agent: Option<String>,
}

#[cfg(feature = "openapi")]
crate::openapi::described_by_role! {
    /// Schema of [`CreatePairingCodeRequest`]: a device's token has no agent.
    CreatePairingCodeRequestSchema(CreatePairingCodeRequest)
}

fn default_role() -> AssignableRole {
    AssignableRole::Device
}

/// A pairing code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreatePairingCodeResponse {
    /// The code to type, `ABCD-EFGH`. If the gateway uses its own key, three more groups contain the key.
    pub code: String,
    /// The code as a link, for a QR code.
    pub link: String,
    /// The gateway's address for the device.
    pub url: String,
    /// Time at which the code expires, in milliseconds since the Unix epoch.
    pub expires_ms: i64,
    /// The role of the future token.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = AssignableRole))]
    pub role: String,
    /// The gateway's own key, if it uses one: `sha256:` and 64 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<String>,
}
