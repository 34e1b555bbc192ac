//! Threads for blocking calls. Android's `ContentResolver.call` can't be cancelled: the caller stops waiting
//! at its own deadline, and the thread is abandoned until the provider answers, if it ever does. Such threads
//! are counted, and a provider that blocks several of them gets no further calls.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

/// Maximum number of parallel calls of all providers.
const MAX_RUNNING: usize = 256;
/// Maximum number of parallel calls of one app: Android's number of threads for answers.
const MAX_RUNNING_PER_APP: usize = 16;
/// Maximum number of running and waiting calls of one app. Further calls fail at once, so that they do not
/// take capacity from other apps.
const MAX_WAITING_PER_APP: usize = 32;
/// Maximum number of abandoned threads of one provider. At this number, the provider gets no further calls.
pub const MAX_STUCK_PER_PROVIDER: usize = 3;
/// Maximum number of abandoned threads of one app. At this number, the app gets no further calls.
const MAX_STUCK_PER_APP: usize = 6;
/// Maximum number of abandoned threads. At this number, no app gets further calls.
const MAX_STUCK: usize = 128;
/// Time after which an idle thread ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Reason why a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// The job exceeded its timeout.
    #[error("the app did not answer in time")]
    TimedOut,
    /// The job was not started in time; nothing was called.
    #[error("the app is busy: this call waited too long for earlier ones")]
    NotStarted,
    /// Too many jobs are waiting; nothing was called.
    #[error("the app is busy: {MAX_WAITING_PER_APP} earlier calls are still running")]
    QueueFull,
    /// Earlier calls of the same provider hang.
    #[error("the app hangs: {MAX_STUCK_PER_PROVIDER} earlier calls are still unanswered")]
    Hanging,
    /// No threads are available.
    #[error("too many apps hang; no other app can be called")]
    Exhausted,
    /// The job panicked.
    #[error("the call failed inside Toolway")]
    Panicked,
}

type BlockingJob = Box<dyn FnOnce() + Send>;

/// The provider that a job calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobOwner {
    /// The app, which is one process.
    pub app: String,
    /// The provider within the app.
    pub provider: String,
}

impl JobOwner {
    /// Creates the owner for a provider of an app.
    pub fn new(app: impl Into<String>, provider: impl Into<String>) -> Self {
        Self { app: app.into(), provider: provider.into() }
    }
}

/// Jobs of one app.
#[derive(Debug)]
struct AppJobs {
    permits: Arc<Semaphore>,
    running: usize,
    /// Number of abandoned threads by provider.
    stuck: HashMap<String, usize>,
}

impl AppJobs {
    fn stuck(&self) -> usize {
        self.stuck.values().sum()
    }

    fn is_idle(&self) -> bool {
        self.running == 0 && self.stuck.is_empty()
    }
}

#[derive(Default)]
struct WorkerPoolState {
    idle: Vec<(u64, SyncSender<BlockingJob>)>,
    last_number: u64,
    apps: HashMap<String, AppJobs>,
    stuck: usize,
}

/// A pool of threads. Cheap to clone; threads end some time after the last clone is dropped.
#[derive(Clone)]
pub struct WorkerPool {
    state: Arc<Mutex<WorkerPoolState>>,
    permits: Arc<Semaphore>,
}

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerPool").finish_non_exhaustive()
    }
}

impl Default for WorkerPool {
    fn default() -> Self {
        Self { state: Arc::default(), permits: Arc::new(Semaphore::new(MAX_RUNNING)) }
    }
}

impl WorkerPool {
    /// Runs a blocking job for one provider, and waits for it at most `timeout`.
    ///
    /// # Errors
    /// [`JobError`] if there is no result.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: &JobOwner,
        timeout: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let has_started = AtomicBool::new(false);
        let within = async {
            let in_lane = self.reserve(lane)?;
            let of_lane = Arc::clone(&in_lane.permits);
            let _turn_in_lane = of_lane.acquire_owned().await.map_err(|_| JobError::Exhausted)?;
            let _turn = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| JobError::Exhausted)?;
            let (answer, answered) = oneshot::channel();
            let waiter = JobWaiter { pool: self.clone(), owner: lane.clone(), job_state: Arc::default() };
            let ticket = waiter.completion_guard();
            self.start(Box::new(move || {
                let result = std::panic::catch_unwind(AssertUnwindSafe(job));
                drop(ticket);
                // Nobody waits after the timeout.
                let _ = answer.send(result.map_err(|_| JobError::Panicked));
            }))?;
            has_started.store(true, Ordering::Relaxed);
            let result = answered.await.unwrap_or(Err(JobError::Panicked));
            drop(waiter);
            result
        };
        let late =
            |_| if has_started.load(Ordering::Relaxed) { JobError::TimedOut } else { JobError::NotStarted };
        tokio::time::timeout(timeout, within).await.map_err(late).flatten()
    }

    /// Returns the number of abandoned threads that are still blocked in a provider.
    #[must_use]
    pub fn stuck_in(&self, lane: &JobOwner) -> usize {
        let state = self.state.lock();
        state.apps.get(&lane.app).and_then(|app| app.stuck.get(&lane.provider)).copied().unwrap_or(0)
    }

    fn reserve(&self, lane: &JobOwner) -> Result<AppJobGuard, JobError> {
        let mut state = self.state.lock();
        if state.stuck >= MAX_STUCK {
            return Err(JobError::Exhausted);
        }
        let app = state.apps.entry(lane.app.clone()).or_insert_with(|| AppJobs {
            permits: Arc::new(Semaphore::new(MAX_RUNNING_PER_APP)),
            running: 0,
            stuck: HashMap::new(),
        });
        if app.stuck.get(&lane.provider).is_some_and(|stuck| *stuck >= MAX_STUCK_PER_PROVIDER)
            || app.stuck() >= MAX_STUCK_PER_APP
        {
            return Err(JobError::Hanging);
        }
        if app.running >= MAX_WAITING_PER_APP {
            return Err(JobError::QueueFull);
        }
        app.running += 1;
        Ok(AppJobGuard { pool: self.clone(), app: lane.app.clone(), permits: Arc::clone(&app.permits) })
    }

    fn start(&self, job: BlockingJob) -> Result<(), JobError> {
        let idle = self.state.lock().idle.pop();
        if let Some((_, thread)) = idle {
            // It was on the idle list, so it waits for a job, or is about to, with space for one.
            return thread.try_send(job).map_err(|_| JobError::Exhausted);
        }
        let state = Arc::downgrade(&self.state);
        std::thread::Builder::new()
            .name("app-provider".to_owned())
            .spawn(move || {
                job();
                while let Some(job) = next_job(&state) {
                    job();
                }
            })
            .map(|_| ())
            .map_err(|_| JobError::Exhausted)
    }
}

/// Waits on the list of idle threads for a job; `None` if the thread must end.
fn next_job(state: &Weak<Mutex<WorkerPoolState>>) -> Option<BlockingJob> {
    let (sender, jobs): (SyncSender<BlockingJob>, Receiver<BlockingJob>) = sync_channel(1);
    let number = {
        let state = state.upgrade()?;
        let mut state = state.lock();
        state.last_number += 1;
        let number = state.last_number;
        state.idle.push((number, sender));
        number
    };
    match jobs.recv_timeout(IDLE_TIMEOUT) {
        Ok(job) => Some(job),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            let state = state.upgrade()?;
            let mut state = state.lock();
            let at = state.idle.iter().position(|(idle, _)| *idle == number);
            match at {
                Some(at) => {
                    state.idle.remove(at);
                    None
                }
                // Another thread has just taken it off the list to give it a job.
                None => {
                    drop(state);
                    jobs.recv().ok()
                }
            }
        }
    }
}

impl WorkerPoolState {
    /// Removes an app without jobs.
    fn remove_idle_app(&mut self, app: &str) {
        if self.apps.get(app).is_some_and(AppJobs::is_idle) {
            self.apps.remove(app);
        }
    }
}

/// Counts a caller of an app.
struct AppJobGuard {
    pool: WorkerPool,
    app: String,
    permits: Arc<Semaphore>,
}

impl Drop for AppJobGuard {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock();
        if let Some(app) = state.apps.get_mut(&self.app) {
            app.running = app.running.saturating_sub(1);
        }
        state.remove_idle_app(&self.app);
    }
}

/// State of a job, updated by the waiter and the thread. The second one finds that the other has finished.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum JobState {
    #[default]
    Waiting,
    Returned,
    Abandoned,
}

/// Waiter of a job. If dropped before the job returned, its thread counts as abandoned.
struct JobWaiter {
    pool: WorkerPool,
    owner: JobOwner,
    job_state: Arc<Mutex<JobState>>,
}

impl JobWaiter {
    fn completion_guard(&self) -> JobCompletionGuard {
        JobCompletionGuard {
            state: Arc::downgrade(&self.pool.state),
            owner: self.owner.clone(),
            job_state: Arc::clone(&self.job_state),
        }
    }
}

impl Drop for JobWaiter {
    fn drop(&mut self) {
        let mut fate = self.job_state.lock();
        if *fate == JobState::Waiting {
            *fate = JobState::Abandoned;
            let mut state = self.pool.state.lock();
            state.stuck += 1;
            if let Some(app) = state.apps.get_mut(&self.owner.app) {
                *app.stuck.entry(self.owner.provider.clone()).or_default() += 1;
            }
        }
    }
}

/// The thread's guard of a job.
struct JobCompletionGuard {
    state: Weak<Mutex<WorkerPoolState>>,
    owner: JobOwner,
    job_state: Arc<Mutex<JobState>>,
}

/// Records that the job has returned, or never ran.
impl Drop for JobCompletionGuard {
    fn drop(&mut self) {
        let mut fate = self.job_state.lock();
        let left_behind = *fate == JobState::Abandoned;
        *fate = JobState::Returned;
        let Some(state) = self.state.upgrade().filter(|_| left_behind) else { return };
        let mut state = state.lock();
        state.stuck = state.stuck.saturating_sub(1);
        if let Some(app) = state.apps.get_mut(&self.owner.app)
            && let Some(stuck) = app.stuck.get_mut(&self.owner.provider)
        {
            *stuck = stuck.saturating_sub(1);
            if *stuck == 0 {
                app.stuck.remove(&self.owner.provider);
            }
        }
        state.remove_idle_app(&self.owner.app);
    }
}

#[cfg(test)]
mod tests;
