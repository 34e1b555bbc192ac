//! What a device has run: kept by the tools themselves, so that nobody else's word is taken for it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::within;

/// One run of a tool.
#[derive(Debug, Clone)]
pub struct Run {
    /// The call's id, as the device was told.
    pub call_id: String,
    /// The argument.
    pub n: u64,
    /// When it began.
    pub at: Instant,
}

/// All runs. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Runs(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    runs: Mutex<Vec<Run>>,
    count: watch::Sender<usize>,
}

impl Runs {
    /// A tool begins.
    pub fn note(&self, call_id: &str, n: u64) {
        self.0.runs.lock().push(Run { call_id: call_id.to_owned(), n, at: Instant::now() });
        self.0.count.send_modify(|count| *count += 1);
    }

    /// Waits until there were so many.
    pub async fn reach(&self, count: usize) {
        let mut counts = self.0.count.subscribe();
        let what = format!("{count} runs");
        within(&what, counts.wait_for(|now| *now >= count)).await.unwrap();
    }

    /// All of them, in the order in which they began.
    #[must_use]
    pub fn all(&self) -> Vec<Run> {
        self.0.runs.lock().clone()
    }

    /// The arguments of all of them, sorted: a call that ran twice stands here twice.
    #[must_use]
    pub fn arguments(&self) -> Vec<u64> {
        let mut arguments: Vec<u64> = self.all().into_iter().map(|run| run.n).collect();
        arguments.sort_unstable();
        arguments
    }
}
