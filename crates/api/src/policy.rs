//! `/api/policy`: rules, and the rule that decides about a call.

use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

use crate::number::optional_whole;
use crate::origin::DefinitionOrigin;

/// A rule with its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyRuleView {
    /// The rule's name.
    pub name: String,
    /// The rule's location: `settings` or `database`.
    pub origin: DefinitionOrigin,
    /// The rule's definition.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub rule: RawJson,
}

/// The active policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyView {
    /// The effect for calls that no rule matches: `allow`, `deny` or `ask`.
    pub default: String,
    /// Sources whose statements about their tools are trusted.
    pub trusted_sources: Vec<String>,
    /// `flag` or `ask`.
    pub changed_tools: String,
    /// The rules, in the order of evaluation.
    pub rules: Vec<PolicyRuleView>,
}

/// Body of `PUT /api/policy/rules/{name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PutRuleRequest {
    /// The rule's definition.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::openapi::PolicyRuleSchema))]
    pub rule: RawJson,
    /// Number of rules in the database that come before this one; default: all.
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 65535))]
    #[serde(default, deserialize_with = "optional_whole", skip_serializing_if = "Option::is_none")]
    pub before: Option<u16>,
}

/// Body of `POST /api/policy/test`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TestPolicyRequest {
    /// The tool's name or id.
    #[cfg_attr(feature = "openapi", schema(value_type = crate::openapi::ShortTextSchema))]
    pub tool: String,
    /// The caller: a token's id, or `owner`; default: the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub principal: Option<String>,
    /// The agent that would make the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub agent: Option<String>,
}

/// The decision about a possible call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TestPolicyResponse {
    /// The tool's id.
    pub tool_id: String,
    /// The caller.
    pub principal: String,
    /// The caller's role.
    pub role: String,
    /// The decision, and its reason.
    pub decision: PolicyDecision,
}

/// A decision of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PolicyDecision {
    /// `allow`, `deny` or `ask`.
    pub effect: String,
    /// The rule that decides. Null if the default, the caller's role or the agent decides.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub rule: Option<String>,
    /// The reason for people.
    pub reason: String,
    /// The rule's definition.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>, required = true))]
    pub definition: Option<RawJson>,
    /// True if a person must approve the call.
    pub requires_approval: bool,
    /// True if the caller may approve it.
    pub caller_may_answer: bool,
    /// True if the tool counts as read-only.
    pub read_only: bool,
    /// The permissions that the tool needs.
    pub permissions: Vec<PermissionDecision>,
}

/// A decision about one permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PermissionDecision {
    /// The permission's name.
    pub permission: String,
    /// Its state by the rules: `granted`, `denied`, `denied_always` or `ask`. Grants can change it.
    pub state: String,
}
