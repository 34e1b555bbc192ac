//! Threads for calls that block. Android's `ContentResolver.call` can't be taken back: who waits for it gives up at
//! a deadline of its own, and the thread is left behind until the provider answers, if it ever does. Such threads
//! are counted, and a provider that holds several of them is asked nothing more.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

/// Calls that run beside each other, of all providers.
const RUNNING: usize = 256;
/// Calls that run beside each other, of one provider: as many as Android gives an app threads to answer them.
const RUNNING_OF_ONE: usize = 16;
/// Threads left behind with one provider before it is asked nothing more.
pub const STUCK_OF_ONE: usize = 3;
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

#[derive(Debug)]
struct Lane {
    turns: Arc<Semaphore>,
    running: usize,
    stuck: usize,
}

#[derive(Default)]
struct State {
    idle: Vec<(u64, SyncSender<Job>)>,
    last_number: u64,
    lanes: HashMap<String, Lane>,
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
        lane: &str,
        patience: Duration,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Missed> {
        let within = async {
            let in_lane = self.enter(lane)?;
            let of_lane = Arc::clone(&in_lane.turns);
            let _turn_in_lane = of_lane.acquire_owned().await.map_err(|_| Missed::Exhausted)?;
            let _turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| Missed::Exhausted)?;
            let (answer, answered) = oneshot::channel();
            let waiter = Waiter { workers: self.clone(), lane: lane.to_owned(), fate: Arc::default() };
            let ticket = waiter.ticket();
            self.start(Box::new(move || {
                let result = std::panic::catch_unwind(AssertUnwindSafe(job));
                drop(ticket);
                // Nobody waits any more where it is overdue.
                let _ = answer.send(result.map_err(|_| Missed::Panicked));
            }))?;
            let result = answered.await.unwrap_or(Err(Missed::Panicked));
            drop(waiter);
            result
        };
        tokio::time::timeout(patience, within).await.unwrap_or(Err(Missed::Overdue))
    }

    /// Threads that were left behind and are still out, of one provider.
    #[must_use]
    pub fn stuck_in(&self, lane: &str) -> usize {
        self.state.lock().lanes.get(lane).map_or(0, |lane| lane.stuck)
    }

    fn enter(&self, lane: &str) -> Result<InLane, Missed> {
        let mut state = self.state.lock();
        if state.stuck >= STUCK {
            return Err(Missed::Exhausted);
        }
        let entry = state.lanes.entry(lane.to_owned()).or_insert_with(|| Lane {
            turns: Arc::new(Semaphore::new(RUNNING_OF_ONE)),
            running: 0,
            stuck: 0,
        });
        if entry.stuck >= STUCK_OF_ONE {
            return Err(Missed::Hanging);
        }
        entry.running += 1;
        Ok(InLane { workers: self.clone(), lane: lane.to_owned(), turns: Arc::clone(&entry.turns) })
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

/// Counts a caller in a lane, and forgets the lane with the last of them.
struct InLane {
    workers: Workers,
    lane: String,
    turns: Arc<Semaphore>,
}

impl Drop for InLane {
    fn drop(&mut self) {
        let mut state = self.workers.state.lock();
        if let Some(lane) = state.lanes.get_mut(&self.lane) {
            lane.running = lane.running.saturating_sub(1);
            if lane.running == 0 && lane.stuck == 0 {
                state.lanes.remove(&self.lane);
            }
        }
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
    lane: String,
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
            if let Some(lane) = state.lanes.get_mut(&self.lane) {
                lane.stuck += 1;
            }
        }
    }
}

/// The thread's side of it.
struct Ticket {
    state: Weak<Mutex<State>>,
    lane: String,
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
        if let Some(lane) = state.lanes.get_mut(&self.lane) {
            lane.stuck = lane.stuck.saturating_sub(1);
            if lane.running == 0 && lane.stuck == 0 {
                state.lanes.remove(&self.lane);
            }
        }
    }
}

#[cfg(test)]
mod tests;
