//! The definition of an agent: a prompt, a model, and the tools it may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::policy::definition::ApprovalMode;
use toolway_models::ModelOptions;

/// An agent, as written by its owner in a file, over REST or on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// Name of the agent: `[a-z][a-z0-9_-]{0,63}`.
    pub name: String,
    /// Description for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// System prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Model that answers, as `NAME/ID`. Default: the first configured model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options of the model.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub options: ModelOptions,
    /// Tools of the agent, as patterns over `source/tool`; a pattern with `!` excludes tools. Callers can use
    /// only those tools that they may use themselves.
    #[serde(default = "every_tool")]
    pub tools: Vec<String>,
    /// Calls that wait for a person's approval, if stricter than the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approval: Option<ApprovalMode>,
    /// Limits of a turn.
    #[serde(default, skip_serializing_if = "TurnLimits::is_none")]
    pub limits: TurnLimits,
    /// Maximum number of tools in a request; the model finds the others with `find_tools`. Built-in tools and tools that
    /// the agent names may exceed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
    /// Time zone for tools, as `Europe/Berlin`, if the client gives none. Default: the gateway's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
}

/// Limits of a turn. A missing limit means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TurnLimits {
    /// Maximum number of requests to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Maximum cost, in the currency of the price table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Maximum duration in seconds, without the time spent waiting for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl TurnLimits {
    /// Returns whether no limit is set.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for AgentDefinition {
    /// An agent without a name, with all tools.
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            prompt: String::new(),
            model: None,
            options: ModelOptions::default(),
            tools: every_tool(),
            approval: None,
            limits: TurnLimits::default(),
            max_tools: None,
            time_zone: None,
        }
    }
}

fn every_tool() -> Vec<String> {
    vec!["*/*".to_owned()]
}
