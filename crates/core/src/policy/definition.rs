//! The rules as the owner writes them, in settings and over REST.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It runs.
    #[default]
    Allow,
    /// It does not, and the tool is not listed.
    Deny,
    /// A person is asked first.
    Ask,
}

/// Which calls wait for a person's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// None: tools run by themselves.
    #[default]
    Never,
    /// Those of tools that are not known to only read.
    Writes,
    /// All.
    Always,
}

/// What the owner says of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionState {
    /// Tools may use it.
    #[default]
    Granted,
    /// They may not.
    Denied,
    /// They may not, and there is no use in asking again.
    DeniedAlways,
    /// A person is asked.
    Ask,
}

/// What becomes of a tool whose description or schema is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangedToolAction {
    /// It is marked as changed, and runs.
    #[default]
    Flag,
    /// It is marked, and waits for the owner.
    Ask,
}

/// Which calls a rule is for. What is left out, or empty, is for all.
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
    /// Tools, as patterns over `source/tool`: `pixel-8/*`, `*/read_*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Whether the tool only reads. That a tool says so counts only where its source is trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether the tool may destroy something. A tool that does not say, or is not trusted, may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether the tool reaches beyond its source. A tool that does not say, or is not trusted, does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// Who may use which tool, and how much.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleDefinition {
    /// A name, for whoever wants to know which rule it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which calls it is for.
    #[serde(default)]
    pub when: RuleCondition,
    /// `allow`, `deny` or `ask`.
    pub effect: Effect,
    /// With `ask`: whether a caller may answer for its own call. Otherwise only an owner may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub caller_may_answer: bool,
    /// Calls that one principal may make in a minute, all tools of the rule together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_minute: Option<u32>,
    /// Calls that one principal may make in a minute of each tool of the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_minute_per_tool: Option<u32>,
    /// Calls that one principal may have in flight, all tools of the rule together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
}

/// Which tools wait for approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRuleDefinition {
    /// Which calls it is for.
    #[serde(default)]
    pub when: RuleCondition,
    /// `never`, `writes` or `always`.
    pub mode: ApprovalMode,
    /// Whether a caller may answer for its own call. Otherwise only an owner may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub caller_may_answer: bool,
}

/// What a permission's state is for some calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRuleDefinition {
    /// The permission, as a pattern: `files.*`.
    pub permission: String,
    /// Which calls it is for.
    #[serde(default)]
    pub when: RuleCondition,
    /// `granted`, `denied`, `denied_always` or `ask`.
    pub state: PermissionState,
}

/// Who may use which tool. Of the rules the first that fits a call decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicySettings {
    /// What becomes of a call that no rule fits: `allow`, `deny` or `ask`.
    pub default: Effect,
    /// Sources whose word on what their tools do is believed, as patterns. Those that come with Toolway and
    /// the owner's own are where nothing is said.
    pub trusted_sources: Vec<String>,
    /// What becomes of a tool whose description or schema is not what it was: `flag` marks it, `ask` also lets
    /// it wait for the owner.
    pub changed_tools: ChangedToolAction,
    /// The rules, in order.
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

/// Which calls wait for a person's approval. Of the rules the first that fits a call decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalSettings {
    /// What holds for a call that no rule fits: `never`, `writes` (all but what is trusted to only read) or
    /// `always`.
    pub default: ApprovalMode,
    /// The rules, in order.
    pub rules: Vec<ApprovalRuleDefinition>,
}

/// The state of permissions. Of the rules the first that fits decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionSettings {
    /// What holds for a permission that no rule fits: `granted`, `denied`, `denied_always` or `ask`.
    pub default: PermissionState,
    /// The rules, in order.
    pub rules: Vec<PermissionRuleDefinition>,
}
