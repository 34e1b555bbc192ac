//! The model list (`GET /v1beta/models`).

use reqwest::Url;
use serde::Deserialize;
use toolway_types::foreign_json;

use crate::lenient;
use crate::provider::AvailableModel;
use crate::provider_api::ModelListPage;

/// Number of models in one page, as the API expects it in the query.
const PAGE_SIZE: &str = "1000";
/// Method that a model must support. The list also has models for embeddings and images.
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

impl GeminiModelEntry {
    fn generates_content(&self) -> bool {
        let methods = self.supported_generation_methods.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == GENERATE_METHOD))
    }
}

pub(super) fn page_url(mut list: Url, cursor: Option<&str>) -> Url {
    list.query_pairs_mut().append_pair("pageSize", PAGE_SIZE);
    if let Some(cursor) = cursor {
        list.query_pairs_mut().append_pair("pageToken", cursor);
    }
    list
}

pub(super) fn parse_page(body: &[u8]) -> Option<ModelListPage> {
    let page: GeminiModelPage = foreign_json::from_slice(body).ok()?;
    let models = page.models.into_iter().filter(GeminiModelEntry::generates_content);
    let models = models.map(|entry| AvailableModel {
        id: entry.name.strip_prefix("models/").unwrap_or(&entry.name).to_owned(),
        context_tokens: entry.input_token_limit.filter(|tokens| *tokens > 0),
    });
    Some(ModelListPage { models: models.collect(), next: page.next_page_token })
}
