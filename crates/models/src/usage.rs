//! Token counts of a request, as the provider reports them.

use serde::{Deserialize, Serialize};

/// Tokens of one request, or of several together. A number that the provider does not report is not there; it is
/// never taken for 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Read, those from the provider's cache among them.
    pub input: Option<u64>,
    /// Number of output tokens, including thinking.
    pub output: Option<u64>,
    /// Number of input tokens from the provider's cache.
    pub cached: Option<u64>,
    /// Number of input tokens written to the provider's cache, if this costs extra.
    pub cache_written: Option<u64>,
    /// Number of output tokens for thinking.
    pub reasoning: Option<u64>,
}

impl ModelUsage {
    /// Returns the sum of two counts. A count that only one of them reports is kept.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, None) | (None, one) => one,
        };
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cached: add(self.cached, other.cached),
            cache_written: add(self.cache_written, other.cache_written),
            reasoning: add(self.reasoning, other.reasoning),
        }
    }

    /// Returns these counts, replaced by those of a later report of the same request.
    #[must_use]
    pub fn updated_with(self, later: Self) -> Self {
        Self {
            input: later.input.or(self.input),
            output: later.output.or(self.output),
            cached: later.cached.or(self.cached),
            cache_written: later.cache_written.or(self.cache_written),
            reasoning: later.reasoning.or(self.reasoning),
        }
    }
}
