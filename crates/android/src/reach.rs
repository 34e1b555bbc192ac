//! One request to one provider: on a thread of its own, under a deadline, made again where the app's process was
//! not there.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::host::{CallFailure, HostCall, ProviderHost};
use crate::workers::{Missed, Workers};

/// Why no answer came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// The system threw.
    #[error(transparent)]
    Failure(#[from] CallFailure),
    /// Nothing came in time, or nothing could be asked.
    #[error(transparent)]
    Missed(#[from] Missed),
}

/// What may be done to get an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Whether it may be made again after the process died in the middle of it: it only reads.
    pub repeatable: bool,
    /// Whether the app may be opened.
    pub launch: bool,
}

/// The way to the providers of one phone. Cheap to clone.
#[derive(Clone)]
pub struct Reach {
    host: Arc<dyn ProviderHost>,
    workers: Workers,
}

impl std::fmt::Debug for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reach").field("workers", &self.workers).finish_non_exhaustive()
    }
}

/// The lane of what is asked of the system itself.
const SYSTEM: &str = "\u{0}system";

impl Reach {
    /// Through this host.
    #[must_use]
    pub fn new(host: Arc<dyn ProviderHost>) -> Self {
        Self { host, workers: Workers::default() }
    }

    /// Threads that hang in a provider.
    #[must_use]
    pub fn stuck_in(&self, authority: &str) -> usize {
        self.workers.stuck_in(authority)
    }

    /// What a person can do where a call was refused for want of a permission.
    #[must_use]
    pub fn way_out(&self) -> &'static str {
        self.host.way_out()
    }

    /// Asks the system something.
    ///
    /// # Errors
    /// [`Missed`].
    pub async fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        question: impl FnOnce(&dyn ProviderHost) -> T + Send + 'static,
    ) -> Result<T, Missed> {
        let host = Arc::clone(&self.host);
        self.workers.run(SYSTEM, patience, move || question(&*host)).await
    }

    /// Calls a provider. Where its process is not there, the system is made to start it, and the same call is
    /// made once more; where that does not help and `effort` allows it, its app is opened first, and the call
    /// made a last time.
    ///
    /// # Errors
    /// [`Unreached`]: of the last try.
    pub async fn call(
        &self,
        package: &str,
        authority: &str,
        method: &str,
        extras: Option<Bundle>,
        patience: Duration,
        effort: Effort,
    ) -> Result<Option<Bundle>, Unreached> {
        let until = Instant::now() + patience;
        let mut revivals = [Revival::Wake, Revival::Launch].into_iter();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let call = HostCall {
                authority: authority.to_owned(),
                method: method.to_owned(),
                extras: extras.clone(),
                patience: left,
            };
            let host = Arc::clone(&self.host);
            let failure = match self.workers.run(authority, left, move || host.call(&call)).await? {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if !worth_another_try(&failure, effort) {
                return Err(failure.into());
            }
            let mut revived = false;
            for revival in revivals.by_ref() {
                let left = until.saturating_duration_since(Instant::now());
                let (host, authority_of, package) =
                    (Arc::clone(&self.host), authority.to_owned(), package.to_owned());
                let result = match revival {
                    Revival::Wake => {
                        self.workers.run(authority, left, move || host.wake(&authority_of)).await?
                    }
                    Revival::Launch if effort.launch => {
                        self.workers.run(authority, left, move || host.launch(&package)).await?
                    }
                    Revival::Launch => continue,
                };
                // A process that could not be started may have been started by somebody else meanwhile: waking
                // is always worth a try.
                revived = match revival {
                    Revival::Wake => true,
                    Revival::Launch => result.unwrap_or(false),
                };
                if revived {
                    break;
                }
            }
            if !revived {
                return Err(failure.into());
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Revival {
    Wake,
    Launch,
}

/// Where nobody served the authority, nothing has run; where the process died, something may have.
fn worth_another_try(failure: &CallFailure, effort: Effort) -> bool {
    match failure {
        CallFailure::UnknownAuthority(_) => true,
        CallFailure::Died(_) => effort.repeatable,
        _ => false,
    }
}
