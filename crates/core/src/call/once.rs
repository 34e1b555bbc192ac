//! Run once (rule 7 of the protocol): an idempotency key holds per principal for a time. The same call again
//! waits for and gets the first's outcome; another call under the key is a conflict.

mod hash;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_types::{Code, Outcome, ToolError};

use super::lookup::Target;
use crate::arguments::Arguments;
use crate::engine::{Call, Engine, EngineSettings, Finished};
use crate::record::EarlierCall;
use slots::Taken;

pub(crate) use slots::{Once, Turn};

/// Longest idempotency key, in bytes.
const MAX_KEY: usize = 256;

/// What became of a key.
pub(super) enum Claim {
    /// This call runs; none where it has no key.
    Free(Option<Turn>),
    /// An earlier one's outcome.
    Earlier(Finished),
    /// It may not run.
    Refused(ToolError),
}

/// Claims a call's key. Where that had to wait, the call's own timeout is shorter afterwards.
pub(super) async fn claim(
    engine: &Engine,
    settings: &EngineSettings,
    call: &mut Call,
    target: &Target,
    arguments: &Arguments,
) -> Claim {
    let Some(text) = call.idempotency_key.clone() else { return Claim::Free(None) };
    if text.is_empty() || text.len() > MAX_KEY {
        return Claim::Refused(ToolError::new(
            Code::InvalidArguments,
            format!("An idempotency key has 1 to {MAX_KEY} bytes, not {}", text.len()),
        ));
    }
    let key = (call.caller.principal.id.clone(), text);
    let hash = hash::hash(&target.id, arguments);
    let turn = loop {
        match engine.once.take(settings, &key, hash) {
            Taken::New(turn) => break turn,
            Taken::Joined(theirs, _) if theirs != hash => return Claim::Refused(conflict()),
            Taken::Joined(_, outcome) => {
                let joined = Instant::now();
                if let Some(claim) = join(settings, call, outcome).await {
                    return claim;
                }
                // It was given up before it ran, so this one may.
                call.timeout = call.timeout.map(|timeout| timeout.saturating_sub(joined.elapsed()));
            }
            Taken::Full => {
                let error = ToolError::new(Code::Overloaded, "Too many idempotency keys are in use");
                return Claim::Refused(error.with_hint("Wait for some of the calls with a key to end"));
            }
        }
    };
    // Not in memory: it may have been used before a restart.
    let lifetime = i64::try_from(settings.key_lifetime.as_millis()).unwrap_or(i64::MAX);
    let since = engine.clock.now_ms().saturating_sub(lifetime);
    match engine.recorder.find_keyed(&key.0, &key.1, since).await {
        None => Claim::Free(Some(turn)),
        Some(earlier) if earlier.hash != hash => Claim::Refused(conflict()),
        Some(earlier) => {
            let finished = recorded(earlier, target);
            turn.end(&finished);
            Claim::Earlier(finished)
        }
    }
}

/// What a record says of an earlier call; one that is still open was cut off.
fn recorded(earlier: EarlierCall, target: &Target) -> Finished {
    let outcome = earlier.outcome.unwrap_or_else(|| {
        let error = ToolError::new(Code::GatewayRestarted, "The gateway was restarted during the first call");
        Arc::new(Outcome::Error(error.dispatched(true)))
    });
    Finished {
        id: earlier.id,
        tool: Some(target.id.clone()),
        outcome,
        original: None,
        durations: earlier.durations,
    }
}

/// Waits for the outcome of the call that holds the key, as long as this caller waits. None where that call
/// was given up before it ran.
async fn join(
    settings: &EngineSettings,
    call: &Call,
    mut outcome: watch::Receiver<Option<Finished>>,
) -> Option<Claim> {
    let wait = call.timeout.unwrap_or(Duration::MAX).min(settings.timeout_cap);
    let cancelled = async {
        match &call.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let refused = tokio::select! {
        biased;
        ended = outcome.wait_for(Option::is_some) => return ended.ok()?.clone().map(Claim::Earlier),
        () = cancelled => ToolError::new(Code::Cancelled, "The call was cancelled"),
        () = tokio::time::sleep(wait) => ToolError::new(
            Code::Timeout,
            "The first call with this idempotency key has not ended yet",
        ).dispatched(true),
    };
    Some(Claim::Refused(refused))
}

fn conflict() -> ToolError {
    ToolError::new(
        Code::IdempotencyConflict,
        "This idempotency key was used before with another tool or other arguments",
    )
    .with_hint("Use a new key for a new call")
}
