//! Lists the models of a server (`GET …/models`), in the forms that OpenAI and those who are compatible give it.

use std::time::Duration;

use http::HeaderMap;
use serde::Deserialize;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::failure;
use crate::lenient;
use crate::provider::AvailableModel;
use crate::transport::ProviderHttpClient;

/// How much of a list is read, in bytes: routers have hundreds of models with long descriptions.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;
/// How long it is read.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks for the list.
pub(crate) async fn list_models(
    config: &ProviderConfig,
    http: &ProviderHttpClient,
    headers: HeaderMap,
) -> Result<Vec<AvailableModel>, ModelError> {
    let url = config.base_url.with_version("v1", "models");
    let body = crate::exchange::fetch_body(config, http, url, headers, MAX_LIST_BYTES, LIST_TIMEOUT).await?;
    parse_list(&body).ok_or_else(|| {
        let shown = String::from_utf8_lossy(&body);
        failure::protocol_failure(config, "what came is no list of models", &shown).error
    })
}

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

fn parse_list(body: &[u8]) -> Option<Vec<AvailableModel>> {
    let (OpenAiModelList::Data { data } | OpenAiModelList::Bare(data)) = serde_json::from_slice(body).ok()?;
    let models = data.into_iter().filter_map(|entry| {
        let context_tokens = entry.context_length.or(entry.max_model_len);
        let context_tokens = context_tokens.or(entry.context_window).or(entry.max_context_length);
        Some(AvailableModel { id: entry.id?, context_tokens: context_tokens.filter(|tokens| *tokens > 0) })
    });
    Some(models.collect())
}

#[cfg(test)]
mod tests;
