//! Lists the models (`GET /v1/models`).

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

#[derive(Deserialize)]
struct AnthropicModelPage {
    data: Vec<AnthropicModelEntry>,
    #[serde(default)]
    has_more: bool,
    #[serde(default, deserialize_with = "lenient::text")]
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct AnthropicModelEntry {
    id: String,
    #[serde(default, deserialize_with = "lenient::count")]
    max_input_tokens: Option<u64>,
}

/// Asks for the list.
pub(super) async fn list_models(
    config: &ProviderConfig,
    http: &ProviderHttpClient,
) -> Result<Vec<AvailableModel>, ModelError> {
    let mut offered = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut url = super::endpoint_url(config, "models");
        url.query_pairs_mut().append_pair("limit", PAGE_SIZE);
        if let Some(after) = &after {
            url.query_pairs_mut().append_pair("after_id", after);
        }
        let body =
            fetch_body(config, http, url, super::headers(config)?, MAX_LIST_BYTES, LIST_TIMEOUT).await?;
        let page: AnthropicModelPage = serde_json::from_slice(&body).map_err(|_| {
            let shown = String::from_utf8_lossy(&body);
            failure::protocol_failure(config, "what came is no list of models", &shown).error
        })?;
        let models = page.data.into_iter();
        offered.extend(models.map(|entry| AvailableModel {
            id: entry.id,
            context_tokens: entry.max_input_tokens.filter(|tokens| *tokens > 0),
        }));
        after = page.last_id.filter(|_| page.has_more);
        if after.is_none() {
            break;
        }
    }
    Ok(offered)
}
