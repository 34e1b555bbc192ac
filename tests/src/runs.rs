//! Runs of a device's tools, recorded by the tools themselves, independently of the gateway.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::with_timeout;

/// One run of a tool.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Id of the call, as the device got it.
    pub call_id: String,
    /// The argument.
    pub n: u64,
    /// Time of the start.
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
    /// Records the start of a run.
    pub fn record_run(&self, call_id: &str, n: u64) {
        self.0.runs.lock().push(RecordedRun { call_id: call_id.to_owned(), n, at: Instant::now() });
        self.0.count.send_modify(|count| *count += 1);
    }

    /// Waits until there were this many runs.
    pub async fn wait_for_count(&self, count: usize) {
        let mut counts = self.0.count.subscribe();
        let what = format!("{count} runs");
        with_timeout(&what, counts.wait_for(|now| *now >= count)).await.unwrap();
    }

    /// Returns all runs, in order of their start.
    #[must_use]
    pub fn recorded_runs(&self) -> Vec<RecordedRun> {
        self.0.runs.lock().clone()
    }

    /// Returns the arguments of all runs, sorted: a call that ran twice occurs twice.
    #[must_use]
    pub fn arguments(&self) -> Vec<u64> {
        let mut arguments: Vec<u64> = self.recorded_runs().into_iter().map(|run| run.n).collect();
        arguments.sort_unstable();
        arguments
    }
}
