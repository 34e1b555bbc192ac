//! Runs the calls of one model response in parallel; results keep the order of the requests.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_types::Slug;

use crate::call_request::CallRequest;
use crate::engine::Engine;
use crate::finished_call::FinishedCall;
use crate::registry::ToolLookup;

/// Position of a call among those of its source: the calls it waits for, and the signal of its end.
struct SequencePosition {
    waits_for: Vec<CancellationToken>,
    end_signal: DropGuard,
}

/// Calls of one source so far.
#[derive(Default)]
struct SourceSequence {
    last_sequential: Option<CancellationToken>,
    calls_since: Vec<CancellationToken>,
}

impl SourceSequence {
    /// Adds a call. A sequential call waits for all earlier ones, and all later ones wait for it.
    fn add_call(&mut self, is_sequential: bool) -> SequencePosition {
        let token = CancellationToken::new();
        let ended = token.clone().drop_guard();
        let mut after: Vec<_> = self.last_sequential.iter().cloned().collect();
        if is_sequential {
            after.append(&mut self.calls_since);
            self.last_sequential = Some(token);
        } else {
            self.calls_since.push(token);
        }
        SequencePosition { waits_for: after, end_signal: ended }
    }
}

impl Engine {
    /// Runs the calls of one model response and returns their outcomes in the same order. They run in
    /// parallel, up to the setting `parallel_calls` per principal. A sequential call starts after all earlier
    /// calls of its source have ended, and later calls of that source start after it has ended.
    pub async fn call_many(self: &Arc<Self>, calls: Vec<CallRequest>) -> Vec<FinishedCall> {
        self.call_many_with_callback(calls, |_, _| {}).await
    }

    /// Does the same, and calls `tell` for each end with the call's index. The callback must not block.
    pub async fn call_many_with_callback(
        self: &Arc<Self>,
        calls: Vec<CallRequest>,
        tell: impl Fn(usize, &FinishedCall),
    ) -> Vec<FinishedCall> {
        let tell = &tell;
        let width = self.settings.load().parallel_calls.max(1);
        let mut sources: HashMap<Slug, SourceSequence> = HashMap::new();
        let placed: Vec<_> = calls
            .into_iter()
            .map(|call| {
                let place = self.source_and_sequential(&call).map(|(source, is_sequential)| {
                    sources.entry(source).or_default().add_call(is_sequential)
                });
                (call, place)
            })
            .collect();
        join_all(placed.into_iter().enumerate().map(|(at, (call, place))| {
            let lane = self.parallel_limits.semaphore_for(&call.caller.principal.id, width);
            async move {
                let (after, ended) =
                    place.map_or((Vec::new(), None), |place| (place.waits_for, Some(place.end_signal)));
                let cancelled = async {
                    match &call.cancel {
                        Some(cancel) => cancel.cancelled().await,
                        None => std::future::pending().await,
                    }
                };
                let turn = async {
                    for earlier in after {
                        earlier.cancelled().await;
                    }
                    // The semaphore is never closed.
                    lane.acquire().await
                };
                // A cancelled call does not wait: it ends at once.
                let _lane = tokio::select! {
                    biased;
                    () = cancelled => None,
                    lane = turn => Some(lane),
                };
                let finished = self.call(call).await;
                drop(ended);
                tell(at, &finished);
                finished
            }
        }))
        .await
    }

    /// Source of a call's tool, and whether the tool is sequential. None if there is no such tool; the call
    /// itself then reports that.
    fn source_and_sequential(&self, call: &CallRequest) -> Option<(Slug, bool)> {
        let policy = self.policy.load();
        let may_use = |id: &_, spec: Option<&_>| policy.may_use(&call.caller, id, spec);
        match self.registry.read().lookup(&call.name, &call.caller, may_use) {
            ToolLookup::Found(id, tool, _) => Some((id.source, tool.spec().is_sequential())),
            _ => None,
        }
    }
}
