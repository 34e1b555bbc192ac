//! Progress of a running tool.

use std::sync::Arc;

use toolway_types::ContentPart;

/// A progress report of a running tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressReport {
    /// Progress so far.
    pub progress: f64,
    /// Total number of steps, if known.
    pub total: Option<f64>,
    /// Description of the current step.
    pub message: Option<String>,
    /// Partial output.
    pub content: Vec<ContentPart>,
}

/// Receives progress reports. It must not block, so it drops reports if its reader is slow.
pub type ProgressSink = Arc<dyn Fn(ProgressReport) + Send + Sync>;
