//! Policy settings as the owner writes them, in settings and over REST.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Effect of a rule on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The call runs.
    #[default]
    Allow,
    /// The call is refused, and the tool is not listed.
    Deny,
    /// A person must approve the call first.
    Ask,
}

/// Calls that need a person's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// No call.
    #[default]
    Never,
    /// Calls of tools that are not known to be read-only.
    Writes,
    /// All calls.
    Always,
}

/// State of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionState {
    /// Tools may use the permission.
    #[default]
    Granted,
    /// Tools may not use the permission.
    Denied,
    /// Tools may not use the permission, and must not ask again.
    DeniedAlways,
    /// A person is asked.
    Ask,
}

/// Handling of a tool whose description or schema has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangedToolAction {
    /// The tool is marked as changed, and can be called.
    #[default]
    Flag,
    /// The tool is marked, and its calls wait for the owner.
    Ask,
}

/// Calls to which a rule applies. A missing or empty field matches all calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuleCondition {
    /// Ids of principals (the id of a token, or `owner`), as patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<String>,
    /// Roles: `owner`, `client`, `companion`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// Agents, as patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Tools, as patterns for `source/tool`: `pixel-8/*`, `*/read_*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// True for read-only tools. The annotation counts only if the source is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// True for tools that may destroy something. Tools without the annotation, or of an untrusted source,
    /// count as destructive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// True for tools that reach beyond their source. Tools without the annotation, or of an untrusted
    /// source, count as such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// A policy rule: access to tools, and rate limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleDefinition {
    /// Name of the rule, shown in explanations and records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Calls to which the rule applies.
    #[serde(default)]
    pub when: RuleCondition,
    /// `allow`, `deny` or `ask`.
    pub effect: Effect,
    /// With `ask`: true if a caller may approve its own call. Otherwise only an owner may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub caller_may_answer: bool,
    /// Maximum number of calls per minute of one principal, for all tools of the rule together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_minute: Option<u32>,
    /// Maximum number of calls per minute of one principal, for each tool of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_minute_per_tool: Option<u32>,
    /// Maximum number of running calls of one principal, for all tools of the rule together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
}

/// An approval rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRuleDefinition {
    /// Calls to which the rule applies.
    #[serde(default)]
    pub when: RuleCondition,
    /// `never`, `writes` or `always`.
    pub mode: ApprovalMode,
    /// True if a caller may approve its own call. Otherwise only an owner may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub caller_may_answer: bool,
}

/// A permission rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRuleDefinition {
    /// Permission, as a pattern: `files.*`.
    pub permission: String,
    /// Calls to which the rule applies.
    #[serde(default)]
    pub when: RuleCondition,
    /// `granted`, `denied`, `denied_always` or `ask`.
    pub state: PermissionState,
}

/// Access to tools. The first matching rule wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// Effect if no rule matches: `allow`, `deny` or `ask`.
    pub default: Effect,
    /// Sources whose annotations are trusted, as patterns. Default: the built-in tools and the owner's own
    /// tools.
    pub trusted_sources: Vec<String>,
    /// Handling of a tool whose description or schema has changed: `flag` marks it; `ask` also makes its
    /// calls wait for the owner.
    pub changed_tools: ChangedToolAction,
    /// Rules, in order.
    pub rules: Vec<RuleDefinition>,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            default: Effect::Allow,
            trusted_sources: vec!["builtin".to_owned(), "own".to_owned()],
            changed_tools: ChangedToolAction::Flag,
            rules: Vec::new(),
        }
    }
}

/// Approval of calls. The first matching rule wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    /// Approval if no rule matches: `never`, `writes` (all tools except trusted read-only ones) or `always`.
    pub default: ApprovalMode,
    /// Rules, in order.
    pub rules: Vec<ApprovalRuleDefinition>,
}

/// Permissions. The first matching rule wins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionSettings {
    /// State if no rule matches: `granted`, `denied`, `denied_always` or `ask`.
    pub default: PermissionState,
    /// Rules, in order.
    pub rules: Vec<PermissionRuleDefinition>,
}
