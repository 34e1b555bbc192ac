//! Budget for compiling the schemas of one source. It bounds the work that one message or one list can cause.

use std::time::Duration;

use tokio::time::Instant;
use toolway_types::pattern::{MAX_PATTERNS, MAX_SCHEMA_PATTERN_BYTES, SchemaPatterns};

use super::SchemaError;

/// Maximum number of patterns in all schemas of a source.
const MAX_SOURCE_PATTERNS: usize = 10_000;
/// Maximum size of all compiled patterns of a source, in bytes: about half a second of work.
const MAX_SOURCE_PATTERN_BYTES: u64 = 64 << 20;
/// Maximum time to compile the schemas of one message or list.
const COMPILE_TIMEOUT: Duration = Duration::from_secs(10);

/// Remaining budget for compiling schemas. A schema that exceeds it is refused; the others are not affected.
#[derive(Debug)]
pub struct CompileBudget {
    patterns: usize,
    bytes: u64,
    deadline: Option<Instant>,
}

impl CompileBudget {
    /// Budget for a message or list of a source whose other schemas have `registered` patterns. The time runs
    /// from now on.
    #[must_use]
    pub fn of_source(registered: SchemaPatterns) -> Self {
        Self {
            patterns: MAX_SOURCE_PATTERNS.saturating_sub(registered.count),
            bytes: MAX_SOURCE_PATTERN_BYTES.saturating_sub(registered.bytes),
            deadline: Instant::now().checked_add(COMPILE_TIMEOUT),
        }
    }

    /// Budget for one schema alone.
    pub(crate) fn of_one_schema() -> Self {
        Self { patterns: MAX_PATTERNS, bytes: MAX_SCHEMA_PATTERN_BYTES, deadline: None }
    }

    /// Takes the patterns of a schema from the budget.
    pub(crate) fn spend(&mut self, patterns: SchemaPatterns) -> Result<(), SchemaError> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(SchemaError::OverBudget(format!(
                "compiling the tools of this source takes longer than {} s",
                COMPILE_TIMEOUT.as_secs()
            )));
        }
        let Some(count) = self.patterns.checked_sub(patterns.count) else {
            return Err(SchemaError::OverBudget(format!(
                "the tools of this source have more than {MAX_SOURCE_PATTERNS} patterns in total"
            )));
        };
        let Some(bytes) = self.bytes.checked_sub(patterns.bytes) else {
            return Err(SchemaError::OverBudget(format!(
                "the patterns of this source's tools take more than {MAX_SOURCE_PATTERN_BYTES} bytes in \
                 total when compiled"
            )));
        };
        (self.patterns, self.bytes) = (count, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(count: usize, bytes: u64) -> SchemaPatterns {
        SchemaPatterns { count, bytes }
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_has_a_budget_for_all_its_schemas() {
        let mut budget = CompileBudget::of_source(patterns(9_000, 60 << 20));
        assert!(budget.spend(patterns(999, 4 << 20)).is_ok());
        assert_eq!(
            budget.spend(patterns(2, 0)).unwrap_err().to_string(),
            "the tools of this source have more than 10000 patterns in total"
        );
        assert_eq!(
            budget.spend(patterns(1, 1)).unwrap_err().to_string(),
            "the patterns of this source's tools take more than 67108864 bytes in total when compiled"
        );
        assert!(budget.spend(patterns(1, 0)).is_ok(), "a smaller one still fits");
        tokio::time::advance(COMPILE_TIMEOUT).await;
        assert_eq!(
            budget.spend(patterns(0, 0)).unwrap_err().to_string(),
            "compiling the tools of this source takes longer than 10 s"
        );
    }
}
