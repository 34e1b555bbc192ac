//! Runs one of the owner's tools once, on a temporary engine without other tools.

use std::sync::Arc;

use toolway_api::tools::CallToolResponseRef;
use toolway_core::{CallRequest, Caller, Engine, EngineParts, RawArguments, Registry, SourceRetention};
use toolway_tools::own::OwnTool;
use toolway_types::{Outcome, RawJson, ResultEnvelope, Slug};

use crate::context::CliContext;
use crate::error::{CliError, CliResult};
use crate::signals::{ProcessSignal, SignalListener};

/// Runs the tool and returns the response as JSON. An interrupt cancels the call.
pub(super) async fn run(tool: &OwnTool, arguments: RawJson, context: &CliContext) -> CliResult<String> {
    let registry = Registry::new();
    let lease = registry.lease(Slug::own(), SourceRetention::Nothing);
    lease.replace(vec![Arc::clone(&tool.tool)]);
    let engine = Engine::new(EngineParts::new(registry, Arc::clone(&context.clock)));
    let name = format!("own__{}", tool.name());
    let call = CallRequest::new(name, RawArguments::Json(arguments), Caller::local_owner());
    let mut signals = SignalListener::new()?;
    let mut running = std::pin::pin!(engine.call(call));
    let finished = loop {
        tokio::select! {
            finished = &mut running => break finished,
            signal = signals.next_signal() => if signal == ProcessSignal::Stop {
                return Err(CliError::new("interrupted; the call was cancelled").with_code("interrupted"));
            },
        }
    };
    let outcome: &Outcome = &finished.outcome;
    let answer = CallToolResponseRef {
        call_id: finished.id,
        duration_ms: finished.durations.total.as_secs_f64() * 1000.0,
        envelope: ResultEnvelope(outcome),
        error: None,
    };
    serde_json::to_string(&answer)
        .map_err(|error| CliError::new(format!("cannot write the outcome: {error}")))
}
