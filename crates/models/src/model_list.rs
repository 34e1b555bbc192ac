//! Reads a provider's list of models, page by page.

use std::time::Duration;

use reqwest::Url;
use tokio::time::timeout;

use crate::error::ModelError;
use crate::failure;
use crate::provider::AvailableModel;
use crate::provider_api::ApiEndpoint;
use crate::transport::ModelResponseBody;

/// Maximum number of pages.
const MAX_PAGES: usize = 10;
/// Timeout for the start of a page, and again for its body.
const PAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// Lists the models that a provider offers.
///
/// # Errors
/// [`ModelError`] if the provider refuses, does not respond in time, or responds with something else.
pub(crate) async fn list_models(endpoint: &ApiEndpoint) -> Result<Vec<AvailableModel>, ModelError> {
    let ApiEndpoint { api, config, .. } = endpoint;
    let mut models = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let body = fetch_page(endpoint, api.model_list_url(config, cursor.as_deref())).await?;
        let page = api.parse_model_list(&body).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&body);
            failure::protocol_failure(config, "the response is not a list of models", &shown).error
        })?;
        models.extend(page.models);
        cursor = page.next.filter(|next| !next.is_empty());
        if cursor.is_none() {
            break;
        }
    }
    Ok(models)
}

async fn fetch_page(endpoint: &ApiEndpoint, url: Url) -> Result<Vec<u8>, ModelError> {
    let ApiEndpoint { api, config, http } = endpoint;
    let response = timeout(PAGE_TIMEOUT, http.get(config, url.clone(), api.headers(config)?)).await;
    let response = response
        .unwrap_or_else(|_| Err(failure::timed_out(config, "no response", PAGE_TIMEOUT, "first_byte_s")));
    let response = response.map_err(|failure| failure.error)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = ModelResponseBody::new(response);
    if !status.is_success() {
        let body = body.read_error().await;
        return Err(failure::from_response(config, &url, "", status, &headers, &body).error);
    }
    match body.read_start(api.max_list_page_bytes(), PAGE_TIMEOUT).await {
        (body, true) => Ok(body),
        (_, false) => Err(failure::truncated_response(config).error),
    }
}
