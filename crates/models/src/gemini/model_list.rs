//! Lists the models (`GET /v1beta/models`).

use std::time::Duration;

use serde::Deserialize;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::fetch_body;
use crate::failure;
use crate::lenient;
use crate::provider::AvailableModel;
use crate::transport::ProviderHttpClient;

/// How much of a list is read, in bytes, and for how long.
const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// How many models one page has, and most pages.
const PAGE_SIZE: &str = "1000";
const MAX_PAGES: usize = 10;
/// What a model must be able to do.
const GENERATE_METHOD: &str = "generateContent";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModelPage {
    models: Vec<GeminiModelEntry>,
    #[serde(default, deserialize_with = "lenient::text")]
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiModelEntry {
    name: String,
    #[serde(default, deserialize_with = "lenient::count")]
    input_token_limit: Option<u64>,
    #[serde(default)]
    supported_generation_methods: Option<Vec<String>>,
}

/// Asks for the list.
pub(super) async fn list_models(
    config: &ProviderConfig,
    http: &ProviderHttpClient,
) -> Result<Vec<AvailableModel>, ModelError> {
    let mut offered = Vec::new();
    let mut token: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut url = super::endpoint_url(config, "models");
        url.query_pairs_mut().append_pair("pageSize", PAGE_SIZE);
        if let Some(token) = &token {
            url.query_pairs_mut().append_pair("pageToken", token);
        }
        let body =
            fetch_body(config, http, url, super::headers(config)?, MAX_LIST_BYTES, LIST_TIMEOUT).await?;
        let page: GeminiModelPage = serde_json::from_slice(&body).map_err(|_| {
            let shown = String::from_utf8_lossy(&body);
            failure::protocol_failure(config, "what came is no list of models", &shown).error
        })?;
        let answers = |entry: &GeminiModelEntry| {
            entry
                .supported_generation_methods
                .as_ref()
                .is_none_or(|can| can.iter().any(|method| method == GENERATE_METHOD))
        };
        offered.extend(page.models.into_iter().filter(answers).map(|entry| AvailableModel {
            id: entry.name.strip_prefix("models/").unwrap_or(&entry.name).to_owned(),
            context_tokens: entry.input_token_limit.filter(|tokens| *tokens > 0),
        }));
        token = page.next_page_token.filter(|token| !token.is_empty());
        if token.is_none() {
            break;
        }
    }
    Ok(offered)
}
