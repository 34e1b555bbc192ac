//! What is asked of a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toolway_types::{JsonObject, RawJson};

use crate::message::ModelMessage;
use crate::tools::ToolSet;

/// One request to a model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model's id at its provider.
    pub model: Arc<str>,
    /// Instructions, which stand before all messages; empty where there are none.
    pub system: String,
    /// The conversation. Repaired: every tool call has its result in the next message.
    pub messages: Vec<ModelMessage>,
    /// The tools that the model may call.
    pub tools: Arc<ToolSet>,
    /// Whether it must.
    pub tool_choice: ToolChoice,
    /// The form that the answer must have.
    pub output: Option<OutputSchema>,
    /// How it is to answer.
    pub options: ModelOptions,
}

/// Whether a model must call a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// It may.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must call one, whichever.
    Required,
    /// It must call this one.
    Tool(String),
}

/// The form that an answer must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSchema {
    /// A name for it.
    pub name: String,
    /// The JSON Schema.
    pub schema: RawJson,
}

/// How much a model may think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// Not at all, where it can do without.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// How a model is to answer. What is not said is left to the provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelOptions {
    /// Most tokens that it may write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// How much chance there is in its choice of words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// From how much of the likely words it chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Texts at which it stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// A number that makes its chance repeatable, where the provider has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// How much it may think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningEffort>,
    /// Whether it may call several tools in one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Fields of the provider's own, which are put into the request's body as they are.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub extra: JsonObject,
}
