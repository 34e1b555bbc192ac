//! How far a running tool is.

use std::sync::Arc;

use toolway_types::ContentPart;

/// One report from a running tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressReport {
    /// How far.
    pub progress: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
    /// Output so far.
    pub content: Vec<ContentPart>,
}

/// Takes reports. It must not block; where its reader is slow it drops reports.
pub type ProgressSink = Arc<dyn Fn(ProgressReport) + Send + Sync>;
