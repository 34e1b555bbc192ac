//! Running a call for a token, and the response with its outcome.

use std::sync::Arc;

use toolway_api::tools::CallToolResponseRef;
use toolway_core::{CallRequest, Engine, FinishedCall};
use toolway_types::ResultEnvelope;

use crate::access::TokenState;

/// The response with a call's outcome.
pub(super) fn call_response(finished: &FinishedCall) -> CallToolResponseRef<'_> {
    CallToolResponseRef {
        call_id: finished.id,
        duration_ms: finished.durations.total.as_secs_f64() * 1000.0,
        envelope: ResultEnvelope(&finished.outcome),
        error: None,
    }
}

/// Runs a call, and cancels it when its token ends. Nobody could use its outcome then.
pub(super) async fn call_with_token(
    engine: &Arc<Engine>,
    mut call: CallRequest,
    token: &TokenState,
) -> FinishedCall {
    let cancel = call.cancel.get_or_insert_default().clone();
    token.cancel_when_ended(&cancel, engine.call(call)).await
}
