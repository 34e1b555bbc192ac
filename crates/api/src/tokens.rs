//! `/api/tokens`: tokens without their text.

use serde::{Deserialize, Serialize};

use crate::number::optional_whole;

/// The state of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum TokenStatus {
    /// Valid.
    Active,
    /// Revoked.
    Revoked,
    /// Expired.
    Expired,
}

impl TokenStatus {
    /// The state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Revoked => "revoked",
            Self::Expired => "expired",
        }
    }
}

/// A role of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum TokenRole {
    /// Everything.
    Owner,
    /// Chats, lists and calls tools.
    Client,
    /// Offers tools.
    Device,
    /// Client and device.
    Companion,
}

/// A role that a new token can get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum AssignableRole {
    /// Offers tools.
    Device,
    /// Chats, lists and calls tools.
    Client,
    /// Client and device.
    Companion,
}

impl From<AssignableRole> for toolway_types::Role {
    fn from(role: AssignableRole) -> Self {
        match role {
            AssignableRole::Device => Self::Device,
            AssignableRole::Client => Self::Client,
            AssignableRole::Companion => Self::Companion,
        }
    }
}

/// A token without its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenSummary {
    /// The token's id.
    pub id: String,
    /// Its role.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = TokenRole))]
    pub role: String,
    /// Its display name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub label: String,
    /// Its state.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true, value_type = TokenStatus))]
    pub status: String,
    /// The only agent that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub agent: Option<String>,
    /// The id of the paired device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub device_id: Option<String>,
    /// The paired device's name for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub device_name: Option<String>,
    /// The paired device's operating system and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub platform: Option<String>,
    /// Time of creation, in milliseconds since the Unix epoch.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub created_ms: i64,
    /// Time at which it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub expires_ms: Option<i64>,
    /// Time of revocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub revoked_ms: Option<i64>,
    /// Time of the last use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub last_used_ms: Option<i64>,
}

impl TokenSummary {
    /// True if the token is valid.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.status == TokenStatus::Active.as_str()
    }
}

/// The tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TokenList {
    /// The oldest first.
    pub tokens: Vec<TokenSummary>,
}

/// Query of `GET /api/tokens`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct ListTokensQuery {
    /// Includes revoked and expired tokens.
    #[serde(default)]
    pub all: bool,
}

/// Body of `POST /api/tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// The role.
    pub role: AssignableRole,
    /// A display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub label: Option<String>,
    /// The only agent that the token may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub agent: Option<String>,
    /// Lifetime in seconds. Without it, the token is valid until it is revoked.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 315_360_000))]
    #[serde(default, deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<i64>,
}

#[cfg(feature = "openapi")]
crate::openapi::described_by_role! {
    /// Schema of [`CreateTokenRequest`]: a device's token has no agent.
    CreateTokenRequestSchema(CreateTokenRequest)
}

/// A new token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateTokenResponse {
    /// The token's text. No other response contains it.
    pub token: String,
    /// The rest of the token.
    #[serde(flatten)]
    pub summary: TokenSummary,
}

/// Response of `POST /api/tokens/owner/rotate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RotateOwnerTokenResponse {
    /// The new token's text. The file `owner.token` in the data folder contains it too.
    pub token: String,
    /// The result for people.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub message: String,
}
