//! What a device has run: kept by the tools themselves, so that nobody else's word is taken for it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::with_timeout;

/// One run of a tool.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// The call's id, as the device was told.
    pub call_id: String,
    /// The argument.
    pub n: u64,
    /// When it began.
    pub at: Instant,
}

/// All runs. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct RunLog(Arc<RunLogInner>);

#[derive(Debug, Default)]
struct RunLogInner {
    runs: Mutex<Vec<RecordedRun>>,
    count: watch::Sender<usize>,
}

impl RunLog {
    /// A tool begins.
    pub fn record_run(&self, call_id: &str, n: u64) {
        self.0.runs.lock().push(RecordedRun { call_id: call_id.to_owned(), n, at: Instant::now() });
        self.0.count.send_modify(|count| *count += 1);
    }

    /// Waits until there were so many.
    pub async fn wait_for_count(&self, count: usize) {
        let mut counts = self.0.count.subscribe();
        let what = format!("{count} runs");
        with_timeout(&what, counts.wait_for(|now| *now >= count)).await.unwrap();
    }

    /// All of them, in the order in which they began.
    #[must_use]
    pub fn recorded_runs(&self) -> Vec<RecordedRun> {
        self.0.runs.lock().clone()
    }

    /// The arguments of all of them, sorted: a call that ran twice stands here twice.
    #[must_use]
    pub fn arguments(&self) -> Vec<u64> {
        let mut arguments: Vec<u64> = self.recorded_runs().into_iter().map(|run| run.n).collect();
        arguments.sort_unstable();
        arguments
    }
}
