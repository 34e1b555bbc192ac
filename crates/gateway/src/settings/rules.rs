//! What sources may register.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What sources may register. Of the rules the first that fits a source decides; where none fits, it may
/// register anything within the limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrationSettings {
    /// The rules, in order: `principals` and `sources` say whom one is for, `names` and `max_tools` what they
    /// may register.
    pub rules: Vec<RegistrationRule>,
}

/// What some sources may register.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrationRule {
    /// Ids of tokens, as patterns; all where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub principals: Vec<String>,
    /// Sources, as patterns; all where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Names that their tools may have, as patterns (`camera_*`); any where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Most tools of one source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
}
