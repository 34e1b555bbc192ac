//! Model providers that are never asked.

use std::sync::Arc;

use toolway_models::build_provider;
use toolway_models::config::{ProviderConfig, Switches};
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{ModelProvider, ProviderKind};

/// The owner's name for each of them.
pub const NAME: &str = "mine";

/// A configuration without any setting.
pub fn config(kind: ProviderKind) -> ProviderConfig {
    let mut config = ProviderConfig::new(NAME, kind, "http://127.0.0.1:1/v1".parse().unwrap());
    config.compatibility = Switches::for_kind(kind);
    config
}

/// A provider of a kind.
pub fn provider_of(kind: ProviderKind) -> Arc<dyn ModelProvider> {
    build_provider(config(kind), ProviderHttpClient::new(|| Err("nothing is asked".to_owned())))
}

/// Models of a kind that want their requests in different forms.
pub fn ids(kind: ProviderKind) -> &'static [&'static str] {
    match kind {
        ProviderKind::Openai => &["gpt-4.1", "gpt-5.5"],
        ProviderKind::OpenaiResponses => &["gpt-5.5", "gpt-4.1"],
        ProviderKind::Anthropic => &[
            "claude-sonnet-4-5",
            "claude-opus-4-8",
            "claude-sonnet-5-5",
            "claude-haiku-5-5",
            "claude-fable-5-1",
            "claude-3-haiku-20240307",
        ],
        ProviderKind::Gemini => &["gemini-2.5-pro", "gemini-3.5-flash", "gemini-3-pro-preview"],
        ProviderKind::Compatible => &["llama-3.3-70b", "qwen3-32b"],
    }
}
