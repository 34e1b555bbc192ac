//! `/api/approvals`: questions of waiting calls.

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

/// A question that a call waits for. Also the data of the event `approval_requested`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingApproval {
    /// The question's id.
    pub id: String,
    /// `permission` or `approval`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub kind: String,
    /// True if the question is about a tool that has changed.
    pub changed_tool: bool,
    /// The id of the waiting call.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub call_id: String,
    /// The tool's name.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub tool: String,
    /// The tool's id.
    pub tool_id: String,
    /// The permission that the call needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub permission: Option<String>,
    /// The caller: a token's id, or `owner`.
    pub principal: String,
    /// The agent that makes the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub agent: Option<String>,
    /// The session of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub session_id: Option<String>,
    /// Reason for the question.
    pub reason: String,
    /// The arguments without secrets; the start as a text, if they are long.
    #[cfg_attr(feature = "openapi", schema(value_type = serde_json::Value))]
    pub arguments: RawJson,
    /// True if the caller may answer. The owner always may.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub caller_may_answer: bool,
    /// Time of the question, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// Time at which the question expires.
    pub expires_ms: i64,
}

/// The pending questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PendingApprovalList {
    /// The oldest first.
    pub approvals: Vec<PendingApproval>,
}

/// The data of the event `approval_resolved`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalResolved {
    /// The question's id.
    pub id: String,
    /// `answered`, `expired`, or `cancelled` if the call has ended.
    pub resolution: String,
    /// The decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub decision: Option<ApprovalDecision>,
    /// The scope of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub scope: Option<ApprovalScope>,
    /// The person who answered: a token's id, or `owner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub answered_by: Option<String>,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// Yes.
    Granted,
    /// No, this time.
    Denied,
    /// No, and do not ask again.
    DeniedAlways,
}

/// The scope of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// This call.
    #[default]
    Once,
    /// This session.
    Session,
    /// All calls of this agent. Owners only.
    Agent,
    /// All calls of this principal. Owners only.
    Always,
}

/// Body of `POST /api/approvals/{id}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AnswerApprovalRequest {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The scope; default: `once`.
    #[serde(default)]
    pub scope: ApprovalScope,
}
