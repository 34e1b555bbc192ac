//! Idempotency (docs/protocol.md, "Calling a tool"): an idempotency key is valid per principal for a time. A
//! repeated call waits for the first call's outcome and returns it; a different call with the same key is a
//! conflict.

mod request_hash;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_types::{Code, Outcome, ToolError};

use super::lookup::CallTarget;
use crate::arguments::Arguments;
use crate::call_request::CallRequest;
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::finished_call::FinishedCall;
use crate::idempotency_keys::{KeyHolder, SlotAcquisition};
use crate::record::EarlierCall;

/// Maximum length of an idempotency key, in bytes.
pub const MAX_IDEMPOTENCY_KEY_BYTES: usize = 256;

/// Maximum length of arguments that are hashed inline, in bytes.
const MAX_INLINE_HASH_BYTES: usize = 256 << 10;

/// Result of claiming a key.
pub(super) enum KeyClaim {
    /// The call runs; None if it has no key.
    Free(Option<KeyHolder>),
    /// The outcome of an earlier call.
    Earlier(FinishedCall),
    /// The call is refused.
    Refused(ToolError),
}

/// Claims the key of a call. Waiting time is subtracted from the call's timeout.
pub(super) async fn claim_key(
    engine: &Engine,
    settings: &EngineSettings,
    call: &mut CallRequest,
    target: &CallTarget,
    arguments: &Arguments,
) -> KeyClaim {
    let Some(text) = call.idempotency_key.clone() else { return KeyClaim::Free(None) };
    if text.is_empty() || text.len() > MAX_IDEMPOTENCY_KEY_BYTES {
        return KeyClaim::Refused(ToolError::new(
            Code::InvalidArguments,
            format!(
                "An idempotency key must have 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes, not {}",
                text.len()
            ),
        ));
    }
    let key = (call.caller.principal.id.clone(), text);
    let hash = hash_request(target, arguments).await;
    let turn = loop {
        match engine.idempotency_keys.acquire(settings, &key, hash) {
            SlotAcquisition::Acquired(turn) => break turn,
            SlotAcquisition::Joined(theirs, _) if theirs != hash => {
                return KeyClaim::Refused(conflict_error());
            }
            SlotAcquisition::Joined(_, outcome) => {
                let joined = Instant::now();
                if let Some(claim) = wait_for_first(settings, call, outcome).await {
                    return claim;
                }
                // The first call ended before it ran, so this one may run.
                call.timeout = call.timeout.map(|timeout| timeout.saturating_sub(joined.elapsed()));
            }
            SlotAcquisition::Full => {
                let error = ToolError::new(Code::Overloaded, "Too many idempotency keys are in use");
                return KeyClaim::Refused(error.with_hint("Wait for some of the calls with a key to end"));
            }
        }
    };
    // The key is not in memory, but may have been used before a restart.
    let lifetime = i64::try_from(settings.key_lifetime.as_millis()).unwrap_or(i64::MAX);
    let since = engine.clock.now_ms().saturating_sub(lifetime);
    match engine.recorder.find_by_key(&key.0, &key.1, since).await {
        None => KeyClaim::Free(Some(turn)),
        Some(earlier) if earlier.hash != hash => KeyClaim::Refused(conflict_error()),
        Some(earlier) => {
            let finished = outcome_from_record(earlier, target);
            turn.complete(&finished);
            KeyClaim::Earlier(finished)
        }
    }
}

/// Hashes the request, on a blocking thread if that takes long.
async fn hash_request(target: &CallTarget, arguments: &Arguments) -> [u8; 32] {
    if arguments.len() <= MAX_INLINE_HASH_BYTES {
        return request_hash::hash_request(&target.id, arguments);
    }
    let (id, shared) = (target.id.clone(), arguments.clone());
    let hashing = tokio::task::spawn_blocking(move || request_hash::hash_request(&id, &shared));
    match hashing.await {
        Ok(hash) => hash,
        // The runtime is stopping.
        Err(_) => request_hash::hash_request(&target.id, arguments),
    }
}

/// Result of an earlier call from its record. A record that is still open belongs to an interrupted call.
fn outcome_from_record(earlier: EarlierCall, target: &CallTarget) -> FinishedCall {
    let outcome = earlier.outcome.unwrap_or_else(|| {
        let error = ToolError::new(Code::GatewayRestarted, "The gateway was restarted during the first call");
        Arc::new(Outcome::Error(error.with_dispatched(true)))
    });
    FinishedCall { id: earlier.id, tool: Some(target.id.clone()), outcome, durations: earlier.durations }
}

/// Waits for the outcome of the call that holds the key, up to this call's timeout. None if that call ended
/// before it ran.
async fn wait_for_first(
    settings: &EngineSettings,
    call: &CallRequest,
    mut outcome: watch::Receiver<Option<FinishedCall>>,
) -> Option<KeyClaim> {
    let wait = call.timeout.unwrap_or(Duration::MAX).min(settings.timeout_cap);
    let cancelled = async {
        match &call.cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let refused = tokio::select! {
        biased;
        ended = outcome.wait_for(Option::is_some) => return ended.ok()?.clone().map(KeyClaim::Earlier),
        () = cancelled => ToolError::new(Code::Cancelled, "The call was cancelled"),
        () = tokio::time::sleep(wait) => ToolError::new(
            Code::Timeout,
            "The first call with this idempotency key has not ended yet",
        ).with_dispatched(true),
    };
    Some(KeyClaim::Refused(refused))
}

fn conflict_error() -> ToolError {
    ToolError::new(
        Code::IdempotencyConflict,
        "This idempotency key was used before with another tool or other arguments",
    )
    .with_hint("Use a new key for a new call")
}
