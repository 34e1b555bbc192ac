//! Lists the models (`GET /v1/models`).

use std::time::Duration;

use serde::Deserialize;

use crate::config::ProviderConfig;
use crate::error::ModelError;
use crate::exchange::fetch;
use crate::failure;
use crate::lenient;
use crate::provider::OfferedModel;
use crate::transport::Http;

/// How much of a list is read, in bytes, and for how long.
const MAX_LIST: usize = 4 * 1024 * 1024;
const LIST_TIME: Duration = Duration::from_secs(30);
/// How many models one page has, and most pages.
const PAGE: &str = "1000";
const MAX_PAGES: usize = 10;

#[derive(Deserialize)]
struct Page {
    data: Vec<Entry>,
    #[serde(default)]
    has_more: bool,
    #[serde(default, deserialize_with = "lenient::text")]
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(default, deserialize_with = "lenient::count")]
    max_input_tokens: Option<u64>,
}

/// Asks for the list.
pub(super) async fn offered(config: &ProviderConfig, http: &Http) -> Result<Vec<OfferedModel>, ModelError> {
    let mut offered = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut url = super::address(config, "models");
        url.query_pairs_mut().append_pair("limit", PAGE);
        if let Some(after) = &after {
            url.query_pairs_mut().append_pair("after_id", after);
        }
        let body = fetch(config, http, url, super::headers(config)?, MAX_LIST, LIST_TIME).await?;
        let page: Page = serde_json::from_slice(&body).map_err(|_| {
            let shown = String::from_utf8_lossy(&body);
            failure::protocol(config, "what came is no list of models", &shown).error
        })?;
        let models = page.data.into_iter();
        offered.extend(models.map(|entry| OfferedModel {
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
