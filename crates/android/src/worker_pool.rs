//! Threads for calls that block. Android's `ContentResolver.call` can't be taken back: who waits for it gives up at
//! a deadline of its own, and the thread is left behind until the provider answers, if it ever does. Such threads
//! are counted, and a provider that holds several of them is asked nothing more.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

/// Calls that run beside each other, of all providers.
const MAX_RUNNING: usize = 256;
/// Calls that run beside each other, of one app: as many as Android gives it threads to answer them.
const MAX_RUNNING_PER_APP: usize = 16;
/// Calls of one app that run or wait for their turn. Whoever comes then is told so at once, and does not hold a place
/// that a call of another app could have.
const MAX_WAITING_PER_APP: usize = 32;
/// Threads left behind with one provider before it is asked nothing more.
pub const MAX_STUCK_PER_PROVIDER: usize = 3;
/// Threads left behind with all providers of one app before that is asked nothing more.
const MAX_STUCK_PER_APP: usize = 6;
/// Threads left behind in all before nothing new is asked of anybody.
const MAX_STUCK: usize = 128;
/// How long a thread without work stays.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a job brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// It took longer than it was given.
    #[error("the app did not answer in time")]
    TimedOut,
    /// Its turn did not come in time; nothing was asked.
    #[error("the app is busy with earlier calls, and this one's turn did not come in time")]
    NotStarted,
    /// Too many wait for their turn; nothing was asked.
    #[error("the app is busy: {MAX_WAITING_PER_APP} earlier calls are still running")]
    QueueFull,
    /// Earlier calls of the same provider hang.
    #[error("the app hangs: {MAX_STUCK_PER_PROVIDER} earlier calls are still unanswered")]
    Hanging,
    /// There are no threads to be had.
    #[error("too many apps hang, so that no more can be asked")]
    Exhausted,
    /// The job panicked.
    #[error("the call failed inside Toolway")]
    Panicked,
}

type BlockingJob = Box<dyn FnOnce() + Send>;

/// Whose calls they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobOwner {
    /// The app, which is one process.
    pub app: String,
    /// The provider within it.
    pub provider: String,
}

impl JobOwner {
    /// Of a provider of an app.
    pub fn new(app: impl Into<String>, provider: impl Into<String>) -> Self {
        Self { app: app.into(), provider: provider.into() }
    }
}

/// What goes on with one app.
#[derive(Debug)]
struct AppJobs {
    permits: Arc<Semaphore>,
    running: usize,
    /// Threads left behind, by provider.
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

/// The threads. Cheap to clone; they end some time after the last clone is gone.
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
    /// Runs a job that blocks, in the lane of one provider, and waits for it no longer than `timeout`.
    ///
    /// # Errors
    /// [`Missed`].
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
                // Nobody waits any more where it is overdue.
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

    /// Threads that were left behind with a provider and are still out.
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
            // It was on the list, so it waits, or is about to, with room for one job.
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

/// Waits on the list of idle threads for a job; nothing where the thread is to end.
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
                // Somebody has just taken it off the list to hand it a job.
                None => {
                    drop(state);
                    jobs.recv().ok()
                }
            }
        }
    }
}

impl WorkerPoolState {
    /// Forgets an app of which nothing is under way any more.
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

/// What became of a job, told by both who waits and the thread: whichever comes second finds the other gone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum JobState {
    #[default]
    Waiting,
    Returned,
    Abandoned,
}

/// Who waits for a job. Dropped before it returned, its thread counts as left behind.
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

/// The thread's side of it.
struct JobCompletionGuard {
    state: Weak<Mutex<WorkerPoolState>>,
    owner: JobOwner,
    job_state: Arc<Mutex<JobState>>,
}

/// The job has returned, or never ran.
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
