//! The manager of all upstream servers: it runs exactly those that the owner has defined.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use toolway_types::Slug;

use super::deps::UpstreamDeps;
use super::offering::UpstreamOffering;
use super::server::Upstream;
use super::status::UpstreamStatus;
use super::supervisor::supervise;
use crate::definition::ServerDefinition;
use crate::offering::{OfferingRegistry, ServerOffering};
use crate::protocol_era::ProtocolEra;

/// The connections to all servers. Dropping it ends them.
#[derive(Debug)]
pub struct UpstreamManager {
    deps: Arc<UpstreamDeps>,
    upstreams: Mutex<BTreeMap<Slug, RunningUpstream>>,
    /// The supervisor tasks that have not ended.
    tasks: TaskTracker,
}

#[derive(Debug)]
struct RunningUpstream {
    upstream: Arc<Upstream>,
    task: JoinHandle<()>,
}

impl UpstreamManager {
    /// Creates a manager without servers.
    #[must_use]
    pub fn new(parts: UpstreamDeps) -> Arc<Self> {
        Arc::new(Self { deps: Arc::new(parts), upstreams: Mutex::default(), tasks: TaskTracker::new() })
    }

    /// Replaces the set of servers: connects new ones, reconnects changed ones, and removes the others with their
    /// tools. Does not wait. Must be called within the runtime.
    pub fn apply(&self, definitions: BTreeMap<Slug, ServerDefinition>) {
        let mut running = self.upstreams.lock();
        let gone =
            running.keys().filter(|slug| !definitions.contains_key(*slug)).cloned().collect::<Vec<_>>();
        for slug in gone {
            if let Some(old) = running.remove(&slug) {
                old.upstream.stop();
                self.deps.registry.forget(&slug);
            }
        }
        if self.tasks.is_closed() {
            return;
        }
        for (slug, definition) in definitions {
            if running.get(&slug).is_some_and(|running| *running.upstream.definition() == definition) {
                continue;
            }
            let before = running.remove(&slug).map(|old| {
                old.upstream.stop();
                old.task
            });
            if definition.disabled {
                self.deps.registry.forget(&slug);
            }
            let upstream = Upstream::new(slug.clone(), definition, Arc::clone(&self.deps));
            let task = self.tasks.spawn(supervise(Arc::clone(&upstream), before));
            running.insert(slug, RunningUpstream { upstream, task });
        }
    }

    /// The status of all servers, by slug.
    #[must_use]
    pub fn status(&self) -> Vec<UpstreamStatus> {
        let all: Vec<_> =
            self.upstreams.lock().values().map(|running| Arc::clone(&running.upstream)).collect();
        all.iter().map(|upstream| upstream.status()).collect()
    }

    /// The server with this slug.
    #[must_use]
    pub fn get(&self, slug: &Slug) -> Option<Arc<Upstream>> {
        self.upstreams.lock().get(slug).map(|running| Arc::clone(&running.upstream))
    }

    /// Reconnects a server immediately. Returns false if there is no such server.
    pub fn reconnect(&self, slug: &Slug) -> bool {
        let upstream = self.get(slug);
        if let Some(upstream) = &upstream {
            upstream.reconnect();
        }
        upstream.is_some()
    }

    /// Stops all servers. Programs are told to exit, and killed after their timeout. Servers that have not stopped
    /// after `within` are killed when they are dropped.
    pub async fn shut_down(&self, within: Duration) {
        let running = std::mem::take(&mut *self.upstreams.lock());
        for running in running.values() {
            running.upstream.stop();
        }
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            running.values().for_each(|running| running.task.abort());
        }
    }
}

impl Drop for UpstreamManager {
    fn drop(&mut self) {
        for running in self.upstreams.lock().values() {
            running.upstream.stop();
        }
    }
}

impl OfferingRegistry for UpstreamManager {
    fn offering(&self, source: &Slug, era: ProtocolEra) -> Option<Arc<dyn ServerOffering>> {
        self.get(source).map(|upstream| UpstreamOffering::for_era(upstream, era))
    }

    fn all(&self, era: ProtocolEra) -> Vec<(Slug, Arc<dyn ServerOffering>)> {
        let running = self.upstreams.lock();
        let all = running.iter();
        all.map(|(slug, running)| {
            (slug.clone(), UpstreamOffering::for_era(Arc::clone(&running.upstream), era))
        })
        .collect()
    }
}
