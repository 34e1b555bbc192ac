//! The adapters: one module for each API of a model provider.
//!
//! An adapter implements [`ProviderApi`]. The modules outside this folder know no API.

use std::sync::Arc;

use crate::api_provider::ApiProvider;
use crate::config::ProviderConfig;
use crate::provider::ModelProvider;
use crate::provider_api::ProviderApi;
use crate::provider_kind::ProviderKind;
use crate::transport::ProviderHttpClient;

mod anthropic;
mod gemini;
mod openai;
mod openai_common;
mod openai_responses;

pub use anthropic::VERSION as ANTHROPIC_VERSION;

/// Builds the model provider of a configuration. It sends and reads nothing until its first request.
#[must_use]
pub fn build_provider(config: ProviderConfig, http: ProviderHttpClient) -> Arc<dyn ModelProvider> {
    Arc::new(ApiProvider::new(api_of(config.kind), config, http))
}

/// The API of a kind of provider.
pub(crate) fn api_of(kind: ProviderKind) -> &'static dyn ProviderApi {
    match kind {
        ProviderKind::Openai | ProviderKind::Compatible => &openai::ChatCompletionsApi,
        ProviderKind::OpenaiResponses => &openai_responses::ResponsesApi,
        ProviderKind::Anthropic => &anthropic::MessagesApi,
        ProviderKind::Gemini => &gemini::GeminiApi,
    }
}
