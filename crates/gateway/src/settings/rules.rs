//! Settings for the tools that sources may register.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tools that sources may register. The first matching rule wins. If none matches, a source may register any
/// tool within the limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrationSettings {
    /// Rules in order. `principals` and `sources` select connections; `names` and `max_tools` limit the tools
    /// that they may register.
    pub rules: Vec<RegistrationRule>,
}

/// A rule for some sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrationRule {
    /// Patterns of token ids; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<String>,
    /// Patterns of sources; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Patterns of allowed tool names (`camera_*`); empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Maximum number of tools of one source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
}
