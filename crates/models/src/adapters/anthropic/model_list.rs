//! The model list (`GET /v1/models`).

use reqwest::Url;
use serde::Deserialize;
use toolway_types::foreign_json;

use crate::lenient;
use crate::provider::AvailableModel;
use crate::provider_api::ModelListPage;

/// Number of models in one page, as the API expects it in the query.
const PAGE_SIZE: &str = "1000";

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

pub(super) fn page_url(mut list: Url, cursor: Option<&str>) -> Url {
    list.query_pairs_mut().append_pair("limit", PAGE_SIZE);
    if let Some(cursor) = cursor {
        list.query_pairs_mut().append_pair("after_id", cursor);
    }
    list
}

pub(super) fn parse_page(body: &[u8]) -> Option<ModelListPage> {
    let page: AnthropicModelPage = foreign_json::from_slice(body).ok()?;
    let models = page.data.into_iter().map(|entry| AvailableModel {
        id: entry.id,
        context_tokens: entry.max_input_tokens.filter(|tokens| *tokens > 0),
    });
    Some(ModelListPage { models: models.collect(), next: page.last_id.filter(|_| page.has_more) })
}
