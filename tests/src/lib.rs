//! Helpers of the end-to-end tests: the real program as a process, callers and devices, a network that can be
//! interrupted, and a record of tool runs.
//!
//! No test waits for a fixed time. Tests wait for events of other processes, for at most [`WAIT_TIMEOUT`].

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

/// Maximum wait for an expected event. Only a failing test waits so long.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Waits for an expected event.
///
/// # Panics
/// If it does not happen within [`WAIT_TIMEOUT`].
pub async fn with_timeout<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(WAIT_TIMEOUT, future).await {
        Ok(value) => value,
        Err(_) => panic!("it did not come about within {WAIT_TIMEOUT:?}: {what}"),
    }
}

/// Polls until there is an answer, for conditions without an event whose check takes some time, such as
/// starting a program.
///
/// # Panics
/// If there is none within [`WAIT_TIMEOUT`].
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
