//! What the end-to-end tests share: the real program as a process, callers and devices, a network that can be
//! cut, and a record of what ran.
//!
//! Nothing here waits for luck. What comes about in another process is waited for by its events, for so long as
//! [`PATIENCE`] at most.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

pub mod caller;
pub mod device;
pub mod mcp;
pub mod process;
pub mod proxy;
pub mod rest;
pub mod runs;
pub mod socket;

use std::time::Duration;

/// How long anything may take that is expected to happen. Only a test that fails waits so long.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits for something that must come about.
///
/// # Panics
/// Where it does not within [`PATIENCE`].
pub async fn with_timeout<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WAIT_TIMEOUT, future).await {
        Ok(value) => value,
        Err(_) => panic!("it did not come about within {WAIT_TIMEOUT:?}: {what}"),
    }
}

/// Asks again and again until there is an answer. For what no event tells, and where asking takes its time, as
/// starting a program does.
///
/// # Panics
/// Where there is none within [`PATIENCE`].
pub async fn poll_until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    with_timeout(what, asking).await
}
