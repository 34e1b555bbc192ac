//! One request to one provider: on a thread of its own, under a deadline, made again where the app's process was
//! not there.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::host::{CallFailure, HostCall, ProviderHost};
use crate::provider::ToolProvider;
use crate::worker_pool::{JobError, JobOwner, WorkerPool};

/// Why no answer came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderCallError {
    /// The system threw.
    #[error(transparent)]
    Call(#[from] CallFailure),
    /// Nothing came in time, or nothing could be asked.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// What may be done to get an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderCallOptions {
    /// Whether it may be made again after the process died in the middle of it: it only reads.
    pub repeatable: bool,
    /// Whether the app may be opened.
    pub launch: bool,
    /// Whether the provider may well do without it: where it hangs, nothing else of the provider is kept waiting.
    pub optional: bool,
}

/// The way to the providers of one phone. Cheap to clone.
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

/// What is asked of the system itself has a lane that no app can have: packages are not empty.
fn system_job_owner() -> JobOwner {
    JobOwner::new("", "")
}

impl ProviderClient {
    /// Through this host.
    #[must_use]
    pub fn new(host: Arc<dyn ProviderHost>) -> Self {
        Self { host, pool: WorkerPool::default() }
    }

    /// Threads that hang in a provider.
    #[must_use]
    pub fn stuck_in(&self, provider: &ToolProvider) -> usize {
        self.pool.stuck_in(&JobOwner::new(&provider.package, &provider.authority))
    }

    /// What a person can do where a call was refused for want of a permission.
    #[must_use]
    pub fn permission_hint(&self) -> &'static str {
        self.host.permission_hint()
    }

    /// Asks the system something.
    ///
    /// # Errors
    /// [`Missed`].
    pub async fn ask_system<T: Send + 'static>(
        &self,
        timeout: Duration,
        question: impl FnOnce(&dyn ProviderHost) -> T + Send + 'static,
    ) -> Result<T, JobError> {
        let host = Arc::clone(&self.host);
        self.pool.run(&system_job_owner(), timeout, move || question(&*host)).await
    }

    /// Calls a provider. Where its process is not there, the system is made to start it, and the same call is
    /// made once more; where that does not help and `effort` allows it, its app is opened first, and the call
    /// made a last time.
    ///
    /// # Errors
    /// [`Unreached`]: of the last try.
    pub async fn call(
        &self,
        provider: &ToolProvider,
        method: &str,
        extras: Option<Bundle>,
        timeout: Duration,
        effort: ProviderCallOptions,
    ) -> Result<Option<Bundle>, ProviderCallError> {
        let ProviderCallOptions { repeatable, launch, optional } = effort;
        let lane = match optional {
            false => JobOwner::new(&provider.package, &provider.authority),
            // No authority has such a name.
            true => JobOwner::new(&provider.package, format!("{} {method}", provider.authority)),
        };
        let until = Instant::now() + timeout;
        let left = || until.saturating_duration_since(Instant::now());
        let revivals = [Some(WakeMethod::Wake), launch.then_some(WakeMethod::Launch)].into_iter().flatten();
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
            let host = Arc::clone(&self.host);
            let (package, authority) = (provider.package.clone(), provider.authority.clone());
            let revived =
                self.pool.run(&lane, left(), move || revival.run(&*host, &package, &authority)).await;
            // Where reviving it takes too long, or fails, what the call said is what there is to say.
            if revived != Ok(true) || left().is_zero() {
                return Err(failure.into());
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum WakeMethod {
    Wake,
    Launch,
}

impl WakeMethod {
    /// Whether it is worth trying again.
    fn run(self, host: &dyn ProviderHost, package: &str, authority: &str) -> bool {
        match self {
            // A process that could not be started may have been by somebody else meanwhile.
            Self::Wake => host.wake(authority).is_ok(),
            Self::Launch => host.launch(package).unwrap_or(false),
        }
    }
}

/// Where nobody served the authority, nothing has run; where the process died, something may have.
fn can_retry(failure: &CallFailure, repeatable: bool) -> bool {
    match failure {
        CallFailure::UnknownAuthority(_) => true,
        CallFailure::Died(_) => repeatable,
        _ => false,
    }
}
