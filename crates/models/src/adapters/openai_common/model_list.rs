//! The model list (`GET …/models`), in the forms of OpenAI and of compatible servers.

use reqwest::Url;
use serde::Deserialize;
use toolway_types::foreign_json;

use crate::config::ProviderConfig;
use crate::lenient;
use crate::provider::AvailableModel;
use crate::provider_api::ModelListPage;

/// OpenAI's form is `{"data":[…]}`, Together's a bare list.
#[derive(Deserialize)]
#[serde(untagged)]
enum OpenAiModelList {
    Data { data: Vec<OpenAiModelEntry> },
    Bare(Vec<OpenAiModelEntry>),
}

#[derive(Deserialize)]
struct OpenAiModelEntry {
    #[serde(default, deserialize_with = "lenient::text")]
    id: Option<String>,
    /// OpenRouter, Together.
    #[serde(default, deserialize_with = "lenient::count")]
    context_length: Option<u64>,
    /// vLLM.
    #[serde(default, deserialize_with = "lenient::count")]
    max_model_len: Option<u64>,
    /// Groq.
    #[serde(default, deserialize_with = "lenient::count")]
    context_window: Option<u64>,
    /// Mistral.
    #[serde(default, deserialize_with = "lenient::count")]
    max_context_length: Option<u64>,
}

pub(crate) fn model_list_url(config: &ProviderConfig) -> Url {
    config.base_url.with_version("v1", "models")
}

/// Parses the list, which these servers send as one page.
pub(crate) fn parse_model_list(body: &[u8]) -> Option<ModelListPage> {
    let (OpenAiModelList::Data { data } | OpenAiModelList::Bare(data)) =
        foreign_json::from_slice(body).ok()?;
    let models = data.into_iter().filter_map(|entry| {
        let context_tokens = entry.context_length.or(entry.max_model_len);
        let context_tokens = context_tokens.or(entry.context_window).or(entry.max_context_length);
        Some(AvailableModel { id: entry.id?, context_tokens: context_tokens.filter(|tokens| *tokens > 0) })
    });
    Some(ModelListPage { models: models.collect(), next: None })
}

#[cfg(test)]
mod tests;
