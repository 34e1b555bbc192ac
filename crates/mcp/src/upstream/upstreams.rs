//! All servers: those that the owner's definitions name are run, and no others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use toolway_types::Slug;

use super::parts::UpstreamParts;
use super::run::run;
use super::server::Upstream;
use super::status::UpstreamStatus;
use crate::definition::ServerDefinition;
use crate::offering::{Offering, Offerings};

/// The connections to all servers. Dropping it ends them.
#[derive(Debug)]
pub struct Upstreams {
    parts: Arc<UpstreamParts>,
    running: Mutex<BTreeMap<Slug, Running>>,
    /// What has yet to end.
    tasks: TaskTracker,
}

#[derive(Debug)]
struct Running {
    upstream: Arc<Upstream>,
    task: JoinHandle<()>,
}

impl Upstreams {
    /// None yet.
    #[must_use]
    pub fn new(parts: UpstreamParts) -> Arc<Self> {
        Arc::new(Self { parts: Arc::new(parts), running: Mutex::default(), tasks: TaskTracker::new() })
    }

    /// Makes these the servers that there are: new ones are connected to, changed ones anew, and those that are gone
    /// are let go, with their tools. Waits for none of them. Must be called within the runtime.
    pub fn apply(&self, definitions: BTreeMap<Slug, ServerDefinition>) {
        let mut running = self.running.lock();
        let gone =
            running.keys().filter(|slug| !definitions.contains_key(*slug)).cloned().collect::<Vec<_>>();
        for slug in gone {
            if let Some(old) = running.remove(&slug) {
                old.upstream.stop();
                self.parts.registry.forget(&slug);
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
                self.parts.registry.forget(&slug);
            }
            let upstream = Upstream::new(slug.clone(), definition, Arc::clone(&self.parts));
            let task = self.tasks.spawn(run(Arc::clone(&upstream), before));
            running.insert(slug, Running { upstream, task });
        }
    }

    /// How all of them stand, by slug.
    #[must_use]
    pub fn status(&self) -> Vec<UpstreamStatus> {
        let all: Vec<_> = self.running.lock().values().map(|running| Arc::clone(&running.upstream)).collect();
        all.iter().map(|upstream| upstream.status()).collect()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, slug: &Slug) -> Option<Arc<Upstream>> {
        self.running.lock().get(slug).map(|running| Arc::clone(&running.upstream))
    }

    /// Connects to one of them anew, now. False where there is no such server.
    pub fn reconnect(&self, slug: &Slug) -> bool {
        let upstream = self.get(slug);
        if let Some(upstream) = &upstream {
            upstream.reconnect();
        }
        upstream.is_some()
    }

    /// Ends all of them: programs are told to end, and killed where they have not within their time. What has not
    /// ended within this time is left to be killed as it is dropped.
    pub async fn shut_down(&self, within: Duration) {
        let running = std::mem::take(&mut *self.running.lock());
        for running in running.values() {
            running.upstream.stop();
        }
        self.tasks.close();
        if tokio::time::timeout(within, self.tasks.wait()).await.is_err() {
            running.values().for_each(|running| running.task.abort());
        }
    }
}

impl Drop for Upstreams {
    fn drop(&mut self) {
        for running in self.running.lock().values() {
            running.upstream.stop();
        }
    }
}

impl Offerings for Upstreams {
    fn of(&self, source: &Slug) -> Option<Arc<dyn Offering>> {
        self.get(source).map(|upstream| Arc::new(upstream) as Arc<dyn Offering>)
    }

    fn all(&self) -> Vec<(Slug, Arc<dyn Offering>)> {
        let running = self.running.lock();
        let all = running.iter();
        all.map(|(slug, running)| {
            (slug.clone(), Arc::new(Arc::clone(&running.upstream)) as Arc<dyn Offering>)
        })
        .collect()
    }
}
