//! Sends one request to one provider: on a separate thread, with a timeout, and again if the app's process
//! was not running.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::host::{CallFailure, HostCall, ProviderHost};
use crate::provider::ToolProvider;
use crate::worker_pool::{JobError, JobOwner, WorkerPool};

/// Reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderCallError {
    /// The system threw an exception.
    #[error(transparent)]
    Call(#[from] CallFailure),
    /// The request timed out or could not be started.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Options of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderCallOptions {
    /// True if the call may be repeated after the process died during it, because it only reads.
    pub repeatable: bool,
    /// Time until which the process of an app that had to be opened is waited for; `None` if the app may not be
    /// opened.
    pub launch_until: Option<Instant>,
    /// True if the answer is optional: if it hangs, other requests to the provider are not blocked.
    pub optional: bool,
}

/// Delays between checks for the process of an opened app: the first and the longest one.
const LAUNCH_POLL: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// Client of the providers of one phone. Cheap to clone.
#[derive(Clone)]
pub struct ProviderClient {
    host: Arc<dyn ProviderHost>,
    pool: WorkerPool,
}

impl std::fmt::Debug for ProviderClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderClient").field("workers", &self.pool).finish_non_exhaustive()
    }
}

/// Returns the owner of jobs for the system itself. No app can have it, because packages are not empty.
fn system_job_owner() -> JobOwner {
    JobOwner::new("", "")
}

impl ProviderClient {
    /// Creates a client with this host.
    #[must_use]
    pub fn new(host: Arc<dyn ProviderHost>) -> Self {
        Self { host, pool: WorkerPool::default() }
    }

    /// Returns the number of threads that hang in a provider.
    #[must_use]
    pub fn stuck_in(&self, provider: &ToolProvider) -> usize {
        self.pool.stuck_in(&JobOwner::new(&provider.package, &provider.authority))
    }

    /// Returns a hint for calls that failed because of a missing permission.
    #[must_use]
    pub fn permission_hint(&self) -> &'static str {
        self.host.permission_hint()
    }

    /// Runs a query of the system.
    ///
    /// # Errors
    /// [`JobError`] if there is no answer.
    pub async fn ask_system<T: Send + 'static>(
        &self,
        timeout: Duration,
        question: impl FnOnce(&dyn ProviderHost) -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let host = Arc::clone(&self.host);
        self.pool.run(&system_job_owner(), timeout, move || question(&*host)).await
    }

    /// Calls a provider. If its process is not running, the system is asked to start it, and the call is
    /// repeated. If that does not help and `effort` allows it, its app is opened, and the call is repeated a last
    /// time as soon as the process is there.
    ///
    /// # Errors
    /// [`ProviderCallError`] of the last attempt.
    pub async fn call(
        &self,
        provider: &ToolProvider,
        method: &str,
        extras: Option<Bundle>,
        timeout: Duration,
        effort: ProviderCallOptions,
    ) -> Result<Option<Bundle>, ProviderCallError> {
        let ProviderCallOptions { repeatable, launch_until, optional } = effort;
        let lane = match optional {
            false => JobOwner::new(&provider.package, &provider.authority),
            // No authority has such a name.
            true => JobOwner::new(&provider.package, format!("{} {method}", provider.authority)),
        };
        let until = Instant::now() + timeout;
        let left = || until.saturating_duration_since(Instant::now());
        let revivals = [Some(WakeMethod::Wake), launch_until.map(WakeMethod::Launch)].into_iter().flatten();
        let mut revivals = revivals.fuse();
        loop {
            let (host, call) = (
                Arc::clone(&self.host),
                HostCall {
                    authority: provider.authority.clone(),
                    method: method.to_owned(),
                    extras: extras.clone(),
                    timeout: left(),
                },
            );
            let failure = match self.pool.run(&lane, left(), move || host.call(&call)).await? {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let revival = if can_retry(&failure, repeatable) { revivals.next() } else { None };
            let Some(revival) = revival else { return Err(failure.into()) };
            let is_revived = match revival {
                WakeMethod::Wake => self.try_wake(&lane, provider, left()).await,
                WakeMethod::Launch(until) => self.launch_and_wait(&lane, provider, until).await,
            };
            // If reviving takes too long or fails, the error of the call is returned.
            if !is_revived || left().is_zero() {
                return Err(failure.into());
            }
        }
    }

    /// Asks the system to start a provider's process. Returns true if another attempt makes sense: something
    /// else may have started the process in the meantime.
    async fn try_wake(&self, lane: &JobOwner, provider: &ToolProvider, timeout: Duration) -> bool {
        let (host, authority) = (Arc::clone(&self.host), provider.authority.clone());
        self.pool.run(lane, timeout, move || host.wake(&authority).is_ok()).await == Ok(true)
    }

    /// Opens an app, and waits until its provider's process is there. An app takes a while to start, and a call
    /// before that fails.
    async fn launch_and_wait(&self, lane: &JobOwner, provider: &ToolProvider, until: Instant) -> bool {
        let left = || until.saturating_duration_since(Instant::now());
        let (host, package) = (Arc::clone(&self.host), provider.package.clone());
        let opened = self.pool.run(lane, left(), move || host.launch(&package).unwrap_or(false)).await;
        if opened != Ok(true) {
            return false;
        }
        let mut delay = LAUNCH_POLL.0;
        while !left().is_zero() {
            let (host, authority) = (Arc::clone(&self.host), provider.authority.clone());
            let started = self.pool.run(lane, left(), move || host.wake(&authority).unwrap_or(false)).await;
            if started == Ok(true) {
                return true;
            }
            tokio::time::sleep(delay.min(left())).await;
            delay = (delay * 2).min(LAUNCH_POLL.1);
        }
        false
    }
}

/// Way to revive a provider's process.
#[derive(Debug, Clone, Copy)]
enum WakeMethod {
    /// By the system.
    Wake,
    /// By opening its app, waiting until this time.
    Launch(Instant),
}

/// Returns true if a call may be repeated. If the authority was unknown, nothing has run; if the process
/// died, the call may have run.
fn can_retry(failure: &CallFailure, repeatable: bool) -> bool {
    match failure {
        CallFailure::UnknownAuthority(_) => true,
        CallFailure::Died(_) => repeatable,
        _ => false,
    }
}
