//! `/api/grants`: stored answers.

#[cfg(feature = "openapi")]
mod schema;

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
pub use self::schema::CreateGrantRequestSchema;
use crate::number::optional_whole;

/// A stored decision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantDecision {
    /// Yes.
    #[default]
    Granted,
    /// No, without a question.
    DeniedAlways,
}

/// A stored answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantView {
    /// The grant's id.
    pub id: String,
    /// `granted` or `denied_always`.
    #[cfg_attr(feature = "openapi", schema(value_type = GrantDecision))]
    pub decision: String,
    /// The tools, as a pattern for `source/tool`.
    pub tool: String,
    /// The permission. Without it, the grant allows the tool to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub permission: Option<String>,
    /// The covered calls: `anyone`, `principal`, `agent` or `session`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub scope: String,
    /// The principal whose calls are covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub principal: Option<String>,
    /// The agent whose calls are covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub agent: Option<String>,
    /// The session whose calls are covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub session_id: Option<String>,
    /// Time of creation, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// The person who created it: a token's id, or `owner`.
    pub created_by: String,
    /// Time at which it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub expires_ms: Option<i64>,
}

impl GrantDecision {
    /// The decision's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::DeniedAlways => "denied_always",
        }
    }
}

/// The stored answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantList {
    /// The oldest first.
    pub grants: Vec<GrantView>,
}

/// Body of `POST /api/grants`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CreateGrantRequest {
    /// The tools, as a pattern for `source/tool`.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::openapi::ToolPatternSchema))]
    pub tool: String,
    /// The permission. Without it, the grant allows the tool to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub permission: Option<String>,
    /// The principal whose calls are covered: a token's id, or `owner`. Without it and `agent`: everyone's calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub principal: Option<String>,
    /// The agent whose calls are covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub agent: Option<String>,
    /// The decision; default: `granted`.
    #[serde(default)]
    pub decision: GrantDecision,
    /// Lifetime in seconds.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 315_360_000))]
    #[serde(default, deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<i64>,
}
