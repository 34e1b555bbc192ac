//! Numbers of tokens, as model providers report them.

use serde::{Deserialize, Serialize};

/// Numbers of tokens. None where they were not reported, never 0 for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// Read, those from a cache among them.
    pub input: Option<u64>,
    /// Written, those spent on thinking among them.
    pub output: Option<u64>,
    /// Of those read, from a cache.
    pub cached: Option<u64>,
    /// Of those read, written into a cache.
    pub cache_written: Option<u64>,
    /// Of those written, spent on thinking.
    pub reasoning: Option<u64>,
}
