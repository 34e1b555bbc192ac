//! The calls of one model's answer: side by side, results in the order of the requests.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_types::{PrincipalId, Slug};

use crate::engine::{Call, Engine, Finished};
use crate::registry::Lookup;

/// How many calls of one principal run at a time through [`Engine::call_many`], over all its answers.
#[derive(Debug, Default)]
pub(crate) struct Lanes(Mutex<HashMap<PrincipalId, Arc<Semaphore>>>);

impl Lanes {
    fn of(&self, principal: &PrincipalId, width: usize) -> Arc<Semaphore> {
        let mut lanes = self.0.lock();
        if !lanes.contains_key(principal) {
            // Those that nobody uses now say nothing.
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        }
        lanes.entry(principal.clone()).or_insert_with(|| Arc::new(Semaphore::new(width))).clone()
    }
}

/// A call's place among those of its source: what it waits for, and what tells that it has ended.
struct Place {
    after: Vec<CancellationToken>,
    ended: DropGuard,
}

/// What there is of one source so far.
#[derive(Default)]
struct SourceSoFar {
    sequential: Option<CancellationToken>,
    since: Vec<CancellationToken>,
}

impl SourceSoFar {
    /// A sequential call waits for all before it, and those after it wait for it.
    fn place(&mut self, is_sequential: bool) -> Place {
        let token = CancellationToken::new();
        let ended = token.clone().drop_guard();
        let mut after: Vec<_> = self.sequential.iter().cloned().collect();
        if is_sequential {
            after.append(&mut self.since);
            self.sequential = Some(token);
        } else {
            self.since.push(token);
        }
        Place { after, ended }
    }
}

impl Engine {
    /// Runs the calls of one model's answer and gives their outcomes in the same order. They run side by side, as
    /// many as the setting `parallel_calls` lets one principal, but for sequential tools: such a call begins when
    /// all calls of its source that stand before it have ended, and those after it begin when it has.
    pub async fn call_many(self: &Arc<Self>, calls: Vec<Call>) -> Vec<Finished> {
        self.call_many_telling(calls, |_, _| {}).await
    }

    /// The same, and `tell` is told of each end as it comes, with the call's place. It must not block.
    pub async fn call_many_telling(
        self: &Arc<Self>,
        calls: Vec<Call>,
        tell: impl Fn(usize, &Finished),
    ) -> Vec<Finished> {
        let tell = &tell;
        let width = self.settings.load().parallel_calls.max(1);
        let mut sources: HashMap<Slug, SourceSoFar> = HashMap::new();
        let placed: Vec<_> = calls
            .into_iter()
            .map(|call| {
                let place = self
                    .sequence_of(&call)
                    .map(|(source, is_sequential)| sources.entry(source).or_default().place(is_sequential));
                (call, place)
            })
            .collect();
        join_all(placed.into_iter().enumerate().map(|(at, (call, place))| {
            let lane = self.lanes.of(&call.caller.principal.id, width);
            async move {
                let (after, ended) =
                    place.map_or((Vec::new(), None), |place| (place.after, Some(place.ended)));
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
                    // It is never closed.
                    lane.acquire().await
                };
                // One that is cancelled has nothing to wait for: it ends at once.
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

    /// The source of a call's tool, and whether the tool is sequential; none where there is no such tool, which
    /// the call itself will find out.
    fn sequence_of(&self, call: &Call) -> Option<(Slug, bool)> {
        let policy = self.policy.load();
        let may_use = |id: &_, spec: Option<&_>| policy.may_use(&call.caller, id, spec);
        match self.registry.read().lookup(&call.name, &call.caller, may_use) {
            Lookup::Found(id, tool, _) => Some((id.source, tool.spec().is_sequential())),
            _ => None,
        }
    }
}
