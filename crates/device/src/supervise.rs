//! One connection after the other, until this side stops or no further try would help.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::greet::Session;
use crate::connection::{self, End};
use crate::shared::Shared;
use crate::status::Status;
use crate::stopped::{Stopped, Verdict};
use crate::transport::upgrade;

/// How long one try may take until the socket is a WebSocket.
const PATIENCE: Duration = Duration::from_secs(15);
/// A connection that lived so long was a good one: the waits start anew after it.
const GOOD: Duration = Duration::from_secs(10);

/// Keeps the device connected.
pub(crate) async fn supervise(shared: &Shared, stop: &CancellationToken) -> Result<(), Stopped> {
    let result = connect_for_ever(shared, stop).await;
    shared.calls.cancel_all();
    // What does not end by itself is dropped by then.
    let _ = tokio::time::timeout(shared.grace + Duration::from_secs(1), shared.calls.until_quiet()).await;
    match &result {
        Ok(()) => tracing::info!("the device stopped"),
        Err(stopped) => tracing::error!(hint = stopped.hint(), "the device stopped: {stopped}"),
    }
    shared.now_is(Status::Stopped(result.clone()));
    result
}

async fn connect_for_ever(shared: &Shared, stop: &CancellationToken) -> Result<(), Stopped> {
    let mut session = Session::default();
    let mut attempt = 0;
    loop {
        shared.now_is(Status::Connecting);
        let opened = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            opened = tokio::time::timeout(PATIENCE, upgrade::open(&shared.route, &shared.token)) => opened,
        };
        let verdict = match opened {
            Err(_) => Verdict::retry("the gateway did not answer in time"),
            Ok(Err(error)) => Verdict::of_upgrade(error),
            Ok(Ok(socket)) => {
                let since = Instant::now();
                match connection::run(socket, shared, &mut session, stop).await {
                    End::Requested => return Ok(()),
                    End::Verdict(verdict) => {
                        if since.elapsed() >= GOOD {
                            attempt = 0;
                        }
                        verdict
                    }
                }
            }
        };
        match verdict {
            Verdict::Stop(stopped) => return Err(stopped),
            Verdict::Retry { why, after } => {
                let delay = shared.backoff.jittered(attempt).max(after.unwrap_or_default());
                attempt = attempt.saturating_add(1);
                tracing::info!(delay_ms = delay.as_millis() as u64, "not connected: {why}");
                shared.now_is(Status::Reconnecting { why, delay });
                if !wait(shared, delay, stop).await {
                    return Ok(());
                }
            }
        }
    }
}

/// Waits, stopping calls meanwhile whose time is over. False where this side stops.
async fn wait(shared: &Shared, delay: Duration, stop: &CancellationToken) -> bool {
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
