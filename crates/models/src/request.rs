//! Requests to models.

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
    /// System instructions; empty if there are none.
    pub system: String,
    /// The conversation. Repaired: every tool call has its result in the next message.
    pub messages: Vec<ModelMessage>,
    /// The tools that the model may call.
    pub tools: Arc<ToolSet>,
    /// Tool use.
    pub tool_choice: ToolChoice,
    /// Schema of the response, for structured outputs.
    pub output: Option<OutputSchema>,
    /// Options.
    pub options: ModelOptions,
}

/// Tool use that a request asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model may call tools.
    #[default]
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call any tool.
    Required,
    /// The model must call the named tool.
    Tool(String),
}

/// A schema for structured outputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSchema {
    /// Name of the schema.
    pub name: String,
    /// The JSON Schema.
    pub schema: RawJson,
    /// True if any JSON object will do, which some APIs have a mode for. `schema` then says no more than that.
    pub accepts_any_object: bool,
}

impl OutputSchema {
    /// Creates a schema that any JSON object matches.
    #[must_use]
    pub fn any_object() -> Self {
        let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap_or_default();
        Self { name: "object".to_owned(), schema, accepts_any_object: true }
    }

    /// Creates a schema for a structured output.
    #[must_use]
    pub fn new(name: impl Into<String>, schema: RawJson) -> Self {
        Self { name: name.into(), schema, accepts_any_object: false }
    }

    /// The requirement as an instruction to the model, for APIs without a field for it.
    pub(crate) fn instructions(&self) -> String {
        match self.accepts_any_object {
            true => "Answer with one JSON object and nothing else.".to_owned(),
            false => format!(
                "Answer with one JSON value and nothing else. It must fit this JSON Schema: {}",
                self.schema.get()
            ),
        }
    }
}

/// Effort that a model may spend on thinking before it responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// No thinking, if the model supports that.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// Options of a request. The provider's default applies to everything that is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelOptions {
    /// Maximum number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: probability mass of the tokens to choose from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Stop sequences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Seed for reproducible sampling, if the provider supports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Effort for thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningEffort>,
    /// The model may call several tools in one response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Fields of the provider's own, which are put into the request's body as they are.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub extra: JsonObject,
}
