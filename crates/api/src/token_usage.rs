//! Tokens of model requests.

use serde::{Deserialize, Serialize};

/// Tokens of one or more model requests. A number is null if the model provider does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TokenUsage {
    /// Input tokens, including cached ones.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub input: Option<u64>,
    /// Output tokens, including reasoning.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub output: Option<u64>,
    /// Input tokens from the provider's cache.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cached: Option<u64>,
    /// Input tokens written to the provider's cache.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub cache_written: Option<u64>,
    /// Output tokens for reasoning.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub reasoning: Option<u64>,
}
