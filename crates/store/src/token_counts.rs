//! Token counts as reported by model providers.

use serde::{Deserialize, Serialize};

/// Token counts. None means not reported; it is never stored as 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Input tokens, including cached ones.
    pub input: Option<u64>,
    /// Output tokens, including reasoning.
    pub output: Option<u64>,
    /// Input tokens read from a cache.
    pub cached: Option<u64>,
    /// Input tokens written to a cache.
    pub cache_written: Option<u64>,
    /// Output tokens used for reasoning.
    pub reasoning: Option<u64>,
}
