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
const RUNNING: usize = 256;
/// Calls that run beside each other, of one app: as many as Android gives it threads to answer them.
const RUNNING_OF_ONE: usize = 16;
/// Calls of one app that run or wait for their turn. Whoever comes then is told so at once, and does not hold a place
/// that a call of another app could have.
const CROWD: usize = 32;
/// Threads left behind with one provider before it is asked nothing more.
pub const STUCK_OF_ONE: usize = 3;
/// Threads left behind with all providers of one app before that is asked nothing more.
const STUCK_OF_APP: usize = 6;
/// Threads left behind in all before nothing new is asked of anybody.
const STUCK: usize = 128;
/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(20);

/// Why a job brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Missed {
    /// It took longer than it was given.
    #[error("the app did not answer in time")]
    Overdue,
    /// Its turn did not come in time; nothing was asked.
    #[error("the app is busy with earlier calls, and this one's turn did not come in time")]
    NotStarted,
    /// Too many wait for their turn; nothing was asked.
    #[error("the app is busy: {CROWD} earlier calls are still running")]
    Crowded,
    /// Earlier calls of the same provider hang.
    #[error("the app hangs: {STUCK_OF_ONE} earlier calls are still unanswered")]
    Hanging,
    /// There are no threads to be had.
    #[error("too many apps hang, so that no more can be asked")]
    Exhausted,
    /// The job panicked.
    #[error("the call failed inside Toolway")]
    Panicked,
}

type Job = Box<dyn FnOnce() + Send>;

/// Whose calls they are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The app, which is one process.
    pub app: String,
    /// The provider within it.
    pub provider: String,
}

impl Lane {
    /// Of a provider of an app.
    pub fn new(app: impl Into<String>, provider: impl Into<String>) -> Self {
        Self { app: app.into(), provider: provider.into() }
    }
}

/// What goes on with one app.
#[derive(Debug)]
struct Traffic {
    turns: Arc<Semaphore>,
    running: usize,
    /// Threads left behind, by provider.
    stuck: HashMap<String, usize>,
}

impl Traffic {
    fn stuck(&self) -> usize {
        self.stuck.values().sum()
    }

    fn is_over(&self) -> bool {
        self.running == 0 && self.stuck.is_empty()
    }
}

#[derive(Default)]
struct State {
    idle: Vec<(u64, SyncSender<Job>)>,
    last_number: u64,
    apps: HashMap<String, Traffic>,
    stuck: usize,
}

/// The threads. Cheap to clone; they end some time after the last clone is gone.
#[derive(Clone)]
pub struct Workers {
    state: Arc<Mutex<State>>,
    turns: Arc<Semaphore>,
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").finish_non_exhaustive()
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self { state: Arc::default(), turns: Arc::new(Semaphore::new(RUNNING)) }
    }
}

impl Workers {
    /// Runs a job that blocks, in the lane of one provider, and waits for it no longer than `patience`.
    ///
    /// # Errors
    /// [`Missed`].
    pub async fn run<T: Send + 'static>(
        &self,
        lane: &Lane,
        patience: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Missed> {
        let has_started = AtomicBool::new(false);
        let within = async {
            let in_lane = self.enter(lane)?;
            let of_lane = Arc::clone(&in_lane.turns);
            let _turn_in_lane = of_lane.acquire_owned().await.map_err(|_| Missed::Exhausted)?;
            let _turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Missed::Exhausted)?;
            let (answer, answered) = oneshot::channel();
            let waiter = Waiter { workers: self.clone(), lane: lane.clone(), fate: Arc::default() };
            let ticket = waiter.ticket();
            self.start(Box::new(move || {
                let result = std::panic::catch_unwind(AssertUnwindSafe(job));
                drop(ticket);
                // Nobody waits any more where it is overdue.
                let _ = answer.send(result.map_err(|_| Missed::Panicked));
            }))?;
            has_started.store(true, Ordering::Relaxed);
            let result = answered.await.unwrap_or(Err(Missed::Panicked));
            drop(waiter);
            result
        };
        let late = |_| if has_started.load(Ordering::Relaxed) { Missed::Overdue } else { Missed::NotStarted };
        tokio::time::timeout(patience, within).await.map_err(late).flatten()
    }

    /// Threads that were left behind with a provider and are still out.
    #[must_use]
    pub fn stuck_in(&self, lane: &Lane) -> usize {
        let state = self.state.lock();
        state.apps.get(&lane.app).and_then(|app| app.stuck.get(&lane.provider)).copied().unwrap_or(0)
    }

    fn enter(&self, lane: &Lane) -> Result<InLane, Missed> {
        let mut state = self.state.lock();
        if state.stuck >= STUCK {
            return Err(Missed::Exhausted);
        }
        let app = state.apps.entry(lane.app.clone()).or_insert_with(|| Traffic {
            turns: Arc::new(Semaphore::new(RUNNING_OF_ONE)),
            running: 0,
            stuck: HashMap::new(),
        });
        if app.stuck.get(&lane.provider).is_some_and(|stuck| *stuck >= STUCK_OF_ONE)
            || app.stuck() >= STUCK_OF_APP
        {
            return Err(Missed::Hanging);
        }
        if app.running >= CROWD {
            return Err(Missed::Crowded);
        }
        app.running += 1;
        Ok(InLane { workers: self.clone(), app: lane.app.clone(), turns: Arc::clone(&app.turns) })
    }

    fn start(&self, job: Job) -> Result<(), Missed> {
        let idle = self.state.lock().idle.pop();
        if let Some((_, thread)) = idle {
            // It was on the list, so it waits, or is about to, with room for one job.
            return thread.try_send(job).map_err(|_| Missed::Exhausted);
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
            .map_err(|_| Missed::Exhausted)
    }
}

/// Waits on the list of idle threads for a job; nothing where the thread is to end.
fn next_job(state: &Weak<Mutex<State>>) -> Option<Job> {
    let (sender, jobs): (SyncSender<Job>, Receiver<Job>) = sync_channel(1);
    let number = {
        let state = state.upgrade()?;
        let mut state = state.lock();
        state.last_number += 1;
        let number = state.last_number;
        state.idle.push((number, sender));
        number
    };
    match jobs.recv_timeout(IDLE) {
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

impl State {
    /// Forgets an app of which nothing is under way any more.
    fn tidy(&mut self, app: &str) {
        if self.apps.get(app).is_some_and(Traffic::is_over) {
            self.apps.remove(app);
        }
    }
}

/// Counts a caller of an app.
struct InLane {
    workers: Workers,
    app: String,
    turns: Arc<Semaphore>,
}

impl Drop for InLane {
    fn drop(&mut self) {
        let mut state = self.workers.state.lock();
        if let Some(app) = state.apps.get_mut(&self.app) {
            app.running = app.running.saturating_sub(1);
        }
        state.tidy(&self.app);
    }
}

/// What became of a job, told by both who waits and the thread: whichever comes second finds the other gone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Fate {
    #[default]
    Waited,
    Returned,
    LeftBehind,
}

/// Who waits for a job. Dropped before it returned, its thread counts as left behind.
struct Waiter {
    workers: Workers,
    lane: Lane,
    fate: Arc<Mutex<Fate>>,
}

impl Waiter {
    fn ticket(&self) -> Ticket {
        Ticket {
            state: Arc::downgrade(&self.workers.state),
            lane: self.lane.clone(),
            fate: Arc::clone(&self.fate),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut fate = self.fate.lock();
        if *fate == Fate::Waited {
            *fate = Fate::LeftBehind;
            let mut state = self.workers.state.lock();
            state.stuck += 1;
            if let Some(app) = state.apps.get_mut(&self.lane.app) {
                *app.stuck.entry(self.lane.provider.clone()).or_default() += 1;
            }
        }
    }
}

/// The thread's side of it.
struct Ticket {
    state: Weak<Mutex<State>>,
    lane: Lane,
    fate: Arc<Mutex<Fate>>,
}

/// The job has returned, or never ran.
impl Drop for Ticket {
    fn drop(&mut self) {
        let mut fate = self.fate.lock();
        let left_behind = *fate == Fate::LeftBehind;
        *fate = Fate::Returned;
        let Some(state) = self.state.upgrade().filter(|_| left_behind) else { return };
        let mut state = state.lock();
        state.stuck = state.stuck.saturating_sub(1);
        if let Some(app) = state.apps.get_mut(&self.lane.app)
            && let Some(stuck) = app.stuck.get_mut(&self.lane.provider)
        {
            *stuck = stuck.saturating_sub(1);
            if *stuck == 0 {
                app.stuck.remove(&self.lane.provider);
            }
        }
        state.tidy(&self.lane.app);
    }
}

#[cfg(test)]
mod tests;
