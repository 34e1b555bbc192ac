//! Runs work that takes long without waiting, like compiling and parsing, on blocking threads. Only few jobs
//! run at the same time, so that they leave processors to everybody else, and each owner gets only a part of
//! these places.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Number of owners above which those without jobs are forgotten.
const SWEEP_AT: usize = 256;

/// The job panicked, or the runtime is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work failed")]
pub struct JobFailed;

/// A limited number of places for blocking jobs.
#[derive(Debug)]
pub struct BlockingPool {
    places: Arc<Semaphore>,
    places_per_owner: usize,
    owners: Mutex<HashMap<Box<str>, Weak<Semaphore>>>,
}

impl BlockingPool {
    /// Creates a pool that runs this many jobs at the same time, and so many of one owner.
    #[must_use]
    pub fn new(places: usize, places_per_owner: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), places_per_owner, owners: Mutex::default() }
    }

    /// Runs a job as soon as there is a place, and waits for its result. A job that has started runs to its
    /// end and keeps its place, even if nobody waits for it any longer.
    ///
    /// # Errors
    /// [`JobFailed`] if the job panicked.
    pub async fn run<R: Send + 'static>(
        &self,
        owner: &str,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, JobFailed> {
        // The owner's own place comes first, so that jobs of one owner do not fill the queue of all.
        let own = self.places_of(owner).acquire_owned().await.map_err(|_| JobFailed)?;
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| JobFailed)?;
        let running = tokio::task::spawn_blocking(move || {
            let _places = (own, place);
            job()
        });
        running.await.map_err(|_| JobFailed)
    }

    fn places_of(&self, owner: &str) -> Arc<Semaphore> {
        let mut owners = self.owners.lock();
        if let Some(places) = owners.get(owner).and_then(Weak::upgrade) {
            return places;
        }
        if owners.len() >= SWEEP_AT {
            owners.retain(|_, places| places.strong_count() > 0);
        }
        let places = Arc::new(Semaphore::new(self.places_per_owner));
        owners.insert(owner.into(), Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests;
