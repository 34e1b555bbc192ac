//! One run of a tool of the owner's own, here and now, on an engine of its own that knows no other tool.

use std::sync::Arc;

use serde::Serialize;
use toolway_core::{Call, Caller, Engine, EngineParts, Keep, RawArguments, Registry};
use toolway_tools::own::OwnTool;
use toolway_types::{CallId, Envelope, Outcome, RawJson, Slug};

use crate::context::Context;
use crate::report::{Done, Failure};
use crate::signals::{Signal, Signals};

/// The outcome, in the form in which the gateway gives it.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    call_id: CallId,
    duration_ms: f64,
    #[serde(flatten)]
    envelope: Envelope<'a>,
}

/// Runs it; gives the answer as JSON. Interrupted, it ends what it started.
pub(super) async fn run(tool: &OwnTool, arguments: RawJson, context: &Context) -> Done<String> {
    let registry = Registry::new();
    let lease = registry.lease(Slug::own(), Keep::Nothing);
    lease.replace(vec![Arc::clone(&tool.tool)]);
    let engine = Engine::new(EngineParts::new(registry, Arc::clone(&context.clock)));
    let name = format!("own__{}", tool.name());
    let call = Call::new(name, RawArguments::Json(arguments), Caller::local_owner());
    let mut signals = Signals::new()?;
    let mut running = std::pin::pin!(engine.call(call));
    let finished = loop {
        tokio::select! {
            finished = &mut running => break finished,
            signal = signals.next() => if signal == Signal::Stop {
                return Err(Failure::new("interrupted; what it started was ended").code("interrupted"));
            },
        }
    };
    let outcome: &Outcome = &finished.outcome;
    let answer = Answer {
        call_id: finished.id,
        duration_ms: finished.durations.total.as_secs_f64() * 1000.0,
        envelope: Envelope(outcome),
    };
    serde_json::to_string(&answer).map_err(|error| Failure::new(format!("cannot write the outcome: {error}")))
}
