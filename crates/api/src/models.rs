//! `/api/models`: model providers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::origin::FileProblem;

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelProviderView {
    /// The owner's name for it.
    pub name: String,
    /// The API that it supports: `openai`, `openai-responses`, `anthropic`, `gemini` or `compatible`.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub kind: String,
    /// The preset that it was created from.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub preset: Option<String>,
    /// Its address.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub base_url: String,
    /// The location of its key. Missing if it needs no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub key: Option<ModelKeyView>,
    /// The default model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub model: Option<String>,
    /// Known properties of single models, by id.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub models: BTreeMap<String, ModelFactsView>,
}

/// The location of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelKeyView {
    /// The location for people.
    pub location: String,
    /// True if the key exists.
    pub present: bool,
}

/// Known properties of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelFactsView {
    /// Context window, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub context_window: Option<u64>,
    /// Maximum number of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub max_tools: Option<usize>,
    /// True if the model accepts images.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub images: Option<bool>,
}

/// The model providers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelProviderList {
    /// In the order of the file. Agents without a model use the first one.
    pub models: Vec<ModelProviderView>,
    /// Problems in `models.toml`. In this case, the previous version of the file stays active.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub problems: Vec<FileProblem>,
}

/// Body of `POST /api/models/{name}/test`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TestModelRequest {
    /// The id of the model; default: the provider's default model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::ShortTextSchema>))]
    pub model: Option<String>,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelTestReport {
    /// The provider's name.
    pub name: String,
    /// The tested model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub model: Option<String>,
    /// True if all required checks succeeded.
    pub ok: bool,
    /// The checks, in their order.
    pub checks: Vec<ModelTestCheck>,
    /// Total duration, in milliseconds.
    pub duration_ms: u64,
}

/// One check of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelTestCheck {
    /// `connection`, `key`, `model`, `streaming`, `tool_call` or `usage`.
    pub check: String,
    /// `ok`, `failed` or `skipped`.
    pub status: String,
    /// The result for people.
    pub message: String,
    /// The next step for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub hint: Option<String>,
}

/// A model that a provider lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProviderModel {
    /// The model's id at the provider.
    pub id: String,
    /// Context window in tokens, if the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub context_window: Option<u64>,
}

/// The models that a provider lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ProviderModelList {
    /// In the provider's order.
    pub models: Vec<ProviderModel>,
}
