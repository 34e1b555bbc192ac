//! `/api/usage`: usage and cost.

use serde::{Deserialize, Serialize};

/// Grouping of a usage report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum UsageGroupBy {
    /// By day.
    #[default]
    Day,
    /// By model.
    Model,
    /// By agent.
    Agent,
    /// By tool, from the call records.
    Tool,
    /// By session.
    Session,
    /// By principal.
    Principal,
}

impl UsageGroupBy {
    /// The grouping's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Session => "session",
            Self::Principal => "principal",
        }
    }
}

/// Query of `GET /api/usage`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", into_params(parameter_in = Query))]
pub struct UsageReportQuery {
    /// `day` (default), `model`, `agent`, `tool`, `session` or `principal`.
    #[cfg_attr(feature = "openapi", param(inline))]
    #[serde(default)]
    pub by: UsageGroupBy,
    /// Usage of this token's id. Only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub principal: Option<String>,
    /// The earliest start, in milliseconds since the Unix epoch. You can also write `since`.
    #[serde(alias = "since", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub since_ms: Option<i64>,
    /// The end of the period (exclusive). You can also write `until`.
    #[serde(alias = "until", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false))]
    pub until_ms: Option<i64>,
    /// The time zone for days, as an offset from UTC in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(nullable = false, minimum = -64800, maximum = 64800))]
    pub utc_offset_s: Option<i32>,
}

/// A usage report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageReport {
    /// The grouping.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub by: String,
    /// The rows: days in their order; other rows by size.
    pub rows: Vec<UsageReportRow>,
}

/// A row of a report. By tool: `calls`, `errors` and `duration_ms`; otherwise requests, tokens and cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageReportRow {
    /// The group. Null for usage without one.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub key: Option<String>,
    /// Number of model requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub requests: Option<u64>,
    /// Number of failed model requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub failed: Option<u64>,
    /// Input tokens, including cached ones.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub input: Option<u64>,
    /// Output tokens, including reasoning.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub output: Option<u64>,
    /// Input tokens from the provider's cache.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cached: Option<u64>,
    /// Input tokens written to the provider's cache.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cache_written: Option<u64>,
    /// Output tokens for reasoning.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub reasoning: Option<u64>,
    /// The cost, as far as it is known.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cost: Option<f64>,
    /// The currency of `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub currency: Option<String>,
    /// Number of model requests without a known price.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub unpriced_requests: Option<u64>,
    /// Number of tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub calls: Option<u64>,
    /// Number of failed tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub errors: Option<u64>,
    /// Total duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, required = true))]
    pub duration_ms: Option<u64>,
}
