//! The definition of an agent: a prompt, a model, and the tools it may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::policy::definition::ApprovalMode;
use toolway_models::ModelOptions;

/// An agent, as its owner writes it in a file, over REST or on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// Its name: `[a-z][a-z0-9_-]{0,63}`.
    pub name: String,
    /// Description for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// System prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// The model that answers, as `NAME/ID`; the first that was added where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options of the model.
    #[serde(default)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub options: ModelOptions,
    /// The tools it may use, as patterns over `source/tool`; one that begins with `!` takes tools out again. Whoever
    /// talks to it uses no tool through it that they may not use themselves.
    #[serde(default = "every_tool")]
    pub tools: Vec<String>,
    /// Which of its calls wait for a person's approval, where that is stricter than the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approval: Option<ApprovalMode>,
    /// Limits of a turn.
    #[serde(default, skip_serializing_if = "TurnLimits::is_none")]
    pub limits: TurnLimits,
    /// Most tools that its model is told of at once; the others it finds with `find_tools`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
}

/// Limits of a turn. A missing limit means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TurnLimits {
    /// So many requests to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// So much money, in the currency of the price table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// So many seconds, those spent waiting for persons not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

impl TurnLimits {
    /// Reports whether no limit is set.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for AgentDefinition {
    /// An agent without a name, which has every tool.
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
        }
    }
}

fn every_tool() -> Vec<String> {
    vec!["*/*".to_owned()]
}
