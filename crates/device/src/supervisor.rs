//! Keeps the device connected: opens one connection after another until it is stopped or retrying cannot
//! help.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::handshake::ResumeState;
use crate::connection::{self, ConnectionEnd};
use crate::device_state::DeviceState;
use crate::error::{DeviceError, ReconnectDecision};
use crate::status::ConnectionStatus;
use crate::transport::upgrade;

/// Maximum duration of one attempt, including the WebSocket upgrade.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Connections that lasted this long reset the backoff.
const STABLE_AFTER: Duration = Duration::from_secs(10);

/// Keeps the device connected.
pub(crate) async fn supervise(shared: &DeviceState, stop: &CancellationToken) -> Result<(), DeviceError> {
    let result = reconnect_loop(shared, stop).await;
    shared.calls.cancel_all();
    // The grace period ends before this, and remaining calls are dropped then.
    let _ = tokio::time::timeout(shared.grace + Duration::from_secs(1), shared.calls.wait_until_idle()).await;
    match &result {
        Ok(()) => tracing::info!("the device stopped"),
        Err(stopped) => tracing::error!(hint = stopped.hint(), "the device stopped: {stopped}"),
    }
    shared.set_status(ConnectionStatus::Stopped(result.clone()));
    result
}

async fn reconnect_loop(shared: &DeviceState, stop: &CancellationToken) -> Result<(), DeviceError> {
    let mut session = ResumeState::default();
    let mut attempt = 0;
    loop {
        shared.set_status(ConnectionStatus::Connecting);
        let opened = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            opened = tokio::time::timeout(CONNECT_TIMEOUT, upgrade::open(&shared.route, &shared.token)) => opened,
        };
        let verdict = match opened {
            Err(_) => ReconnectDecision::retry("the gateway did not answer in time"),
            Ok(Err(error)) => ReconnectDecision::from_upgrade_error(error),
            Ok(Ok(socket)) => {
                let since = Instant::now();
                match connection::run(socket, shared, &mut session, stop).await {
                    ConnectionEnd::Requested => return Ok(()),
                    ConnectionEnd::Verdict(verdict) => {
                        if since.elapsed() >= STABLE_AFTER {
                            attempt = 0;
                        }
                        verdict
                    }
                }
            }
        };
        match verdict {
            ReconnectDecision::Stop(stopped) => return Err(stopped),
            ReconnectDecision::Retry { why, after } => {
                let delay = shared.backoff.random_delay(attempt).max(after.unwrap_or_default());
                attempt = attempt.saturating_add(1);
                tracing::info!(delay_ms = delay.as_millis() as u64, "not connected: {why}");
                shared.set_status(ConnectionStatus::Reconnecting { why, delay });
                if !wait_before_retry(shared, delay, stop).await {
                    return Ok(());
                }
            }
        }
    }
}

/// Waits before the next attempt, and stops orphaned calls meanwhile. Returns false if the device is
/// stopping.
async fn wait_before_retry(shared: &DeviceState, delay: Duration, stop: &CancellationToken) -> bool {
    let end = Instant::now() + delay;
    loop {
        let orphan = shared.calls.cancel_orphans();
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep_until(orphan.map_or(end, |orphan| orphan.min(end))) => {}
        }
        if Instant::now() >= end {
            return true;
        }
    }
}
