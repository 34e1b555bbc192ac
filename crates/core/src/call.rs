//! Runs tool calls. Each submodule implements one step.

mod abandoned_task;
mod argument_check;
mod batch;
mod consent_check;
mod external_end;
mod hooks;
pub(crate) mod idempotency;
mod lookup;
mod model_pictures;
mod optional_nulls;
mod record;
mod redaction;
mod run_limits;
mod tool_run;
mod truncation;

use std::sync::Arc;

use tokio::time::Instant;
use toolway_types::ToolError;
use tracing::Instrument as _;

use crate::arguments::Arguments;
use crate::call_request::CallRequest;
use crate::caller::EntryPoint;
use crate::engine::Engine;
use crate::engine_settings::EngineSettings;
use crate::finished_call::FinishedCall;
use lookup::CallTarget;
use record::CallRecordGuard;

impl Engine {
    /// Runs a tool. Every call ends in exactly one outcome, which is recorded before it is returned
    /// (invariant "exactly one recorded outcome").
    ///
    /// In this order, it looks up the name among the tools that the policy allows, validates the arguments, counts
    /// the call against its principal's limits, obtains a person's consent if the rules require it, runs the
    /// hooks, runs the tool in its own task under the deadline, runs the hooks again, and checks the size of
    /// the result. If an agent made the call, pictures in the text of the result become pictures, and long text is
    /// truncated for its model.
    ///
    /// Dropping the returned future cancels the call and records that.
    pub async fn call(self: &Arc<Self>, call: CallRequest) -> FinishedCall {
        let span = tracing::debug_span!(
            "call", id = %call.id, name = %call.name, caller = %call.caller.principal.id,
            tool = tracing::field::Empty
        );
        let settings = self.settings.load_full();
        let for_model = call.caller.via == EntryPoint::Agent;
        // Only an instrumented future needs a box. A disabled span saves this allocation.
        let mut finished = match span.is_disabled() {
            true => self.call_in_span(&settings, call).await,
            false => Box::pin(self.call_in_span(&settings, call)).instrument(span).await,
        };
        if for_model {
            let outcome = model_pictures::extract_pictures(&finished.outcome);
            finished.outcome =
                truncation::truncate_for_model(&outcome, settings.model_text_bytes, finished.id);
        }
        finished
    }

    async fn call_in_span(
        self: &Arc<Self>,
        settings: &Arc<EngineSettings>,
        mut call: CallRequest,
    ) -> FinishedCall {
        let accepted = Instant::now();
        let refuse = |call: CallRequest,
                      target: Option<CallTarget>,
                      arguments: Option<Arguments>,
                      error: ToolError| {
            let open = CallRecordGuard::open(
                self,
                settings,
                &call,
                accepted,
                target.as_ref(),
                arguments.as_ref(),
                None,
            );
            open.close(Err(error))
        };
        let _in_flight = match self.in_flight.admit(settings.calls_in_flight) {
            Ok(guard) => guard,
            Err(error) => return refuse(call, None, None, error.into()).await,
        };
        let target = match lookup::find_target(self, &call) {
            Ok(target) => target,
            Err(lookup::TargetError { error, rule }) => {
                let mut open = CallRecordGuard::open(self, settings, &call, accepted, None, None, None);
                if let Some(rule) = &rule {
                    open.note_refusing_rule(rule);
                }
                return open.close(Err(error)).await;
            }
        };
        if call.caller.time_zone.is_none() {
            call.caller.time_zone = target.policy.agent_time_zone(&call.caller);
        }
        let arguments =
            match argument_check::check_call_arguments(self, settings, &mut call, &target, accepted).await {
                Ok(arguments) => arguments,
                Err(bad) => return refuse(call, Some(target), bad.parsed, *bad.error).await,
            };
        let principal = &call.caller.principal.id;
        let _rate_limit = match self.limiter.admit(&target.policy, target.decision, principal, &target.id) {
            Ok(guard) => guard,
            Err(error) => {
                let mut open = CallRecordGuard::open(
                    self,
                    settings,
                    &call,
                    accepted,
                    Some(&target),
                    Some(&arguments),
                    None,
                );
                if let Some(rule) = target.policy.rule_name(target.decision) {
                    open.note_refusing_rule(rule);
                }
                return open.close(Err(error)).await;
            }
        };
        let claim = match call.idempotency_key {
            None => idempotency::KeyClaim::Free(None),
            Some(_) => Box::pin(idempotency::claim_key(self, settings, &mut call, &target, &arguments)).await,
        };
        let turn = match claim {
            idempotency::KeyClaim::Free(turn) => turn,
            idempotency::KeyClaim::Earlier(finished) => return finished,
            idempotency::KeyClaim::Refused(error) => {
                return refuse(call, Some(target), Some(arguments), error).await;
            }
        };
        let open =
            CallRecordGuard::open(self, settings, &call, accepted, Some(&target), Some(&arguments), turn);
        tool_run::run_call(self, settings, call, target, arguments, open).await
    }
}

#[cfg(test)]
mod tests;
