//! Detects changed tools: compares the specs that sources register with those that the owner accepted. The
//! first spec of a tool is accepted automatically. Only stored sources are compared; tools of a source
//! without identity have no earlier version.

mod document;
mod fingerprint_cache;

use std::collections::BTreeMap;
use std::sync::Arc;

use similar::TextDiff;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use toolway_core::{Engine, ToolSpec};
use toolway_store::{
    LazySpecDocument, RegisteredSpec, SourceSpecs, SpecFingerprint, SpecRow, Store, StoreError,
};
use toolway_types::{Clock, Slug, ToolId, ToolName};

use self::fingerprint_cache::FingerprintCache;

/// Maximum number of registrations in the queue; a source that registers more waits.
const MAX_QUEUED: usize = 1024;
/// Maximum size of the specs in the queue, in KiB.
const MAX_QUEUED_KIB: usize = 64 << 10;
/// Number of registrations that are compared together.
const BATCH: usize = 64;

/// Number of specs that are compared in one round.
const SPECS_PER_ROUND: usize = 64;

/// Compares registered specs with the accepted ones.
#[derive(Debug)]
pub(crate) struct ToolChangeTracker {
    engine: Arc<Engine>,
    store: Store,
    clock: Arc<dyn Clock>,
    queue: mpsc::Sender<RegisteredSpecs>,
    queue_capacity: Arc<Semaphore>,
    fingerprints: Arc<FingerprintCache>,
    /// Locked from reading the stored specs until marking, so that no mark is older than another.
    marking: tokio::sync::Mutex<()>,
}

/// The version of a tool that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcceptedVersion {
    /// The current version.
    Current,
    /// The version with this fingerprint.
    Fingerprint(SpecFingerprint),
    /// The version at this time, in milliseconds since the Unix epoch.
    AsOf(i64),
}

/// The specs that a source registered.
#[derive(Debug)]
struct RegisteredSpecs {
    source: Slug,
    specs: Vec<Arc<ToolSpec>>,
    /// Permit for the size in the queue.
    _permit: Option<OwnedSemaphorePermit>,
}

/// A spec with its fingerprint.
struct FingerprintedSpec {
    spec: Arc<ToolSpec>,
    fingerprint: SpecFingerprint,
}

/// The last registered specs of a source, by name.
type SpecsByTool = BTreeMap<ToolName, FingerprintedSpec>;

/// Returns the fingerprints of all specs of a batch. If a
/// source registered a tool twice, the second spec is in another round: the first is accepted, and the second
/// is a change. Rounds are small, because call records wait while one is written.
fn fingerprint_batch(
    batch: Vec<RegisteredSpecs>,
    fingerprints: &FingerprintCache,
) -> Vec<BTreeMap<Slug, SpecsByTool>> {
    let mut rounds = Vec::new();
    let mut round = BTreeMap::<Slug, SpecsByTool>::new();
    let mut in_round = 0;
    for RegisteredSpecs { source, specs, .. } in batch {
        for spec in specs {
            let fingerprint = fingerprints.fingerprint(&spec);
            let is_another = |seen: &FingerprintedSpec| seen.fingerprint != fingerprint;
            let clashes = round.get(&source).and_then(|specs| specs.get(spec.name())).is_some_and(is_another);
            if clashes || in_round >= SPECS_PER_ROUND {
                rounds.push(std::mem::take(&mut round));
                in_round = 0;
            }
            in_round += 1;
            let of_source = round.entry(source.clone()).or_default();
            of_source.insert(spec.name().clone(), FingerprintedSpec { spec, fingerprint });
        }
    }
    rounds.push(round);
    rounds
}

/// Returns the size of the specs in KiB, limited to the capacity of the queue.
fn kibibytes(specs: &[Arc<ToolSpec>]) -> u32 {
    let of = |spec: &Arc<ToolSpec>| {
        let document = spec.document();
        let schemas = [&document.parameters, &document.output_schema, &document.annotations];
        let schemas = schemas.into_iter().flatten().map(|schema| schema.get().len()).sum::<usize>();
        document.description.as_ref().map_or(0, String::len) + schemas
    };
    let kib = specs.iter().map(of).sum::<usize>() / 1024 + 1;
    u32::try_from(kib.min(MAX_QUEUED_KIB)).unwrap_or(u32::MAX)
}

/// The difference between a tool's current and accepted version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecDifference {
    /// True if the tool is marked as changed.
    pub(crate) changed: bool,
    /// Time of the change, in milliseconds since the Unix epoch; `None` if it has not changed.
    pub(crate) changed_ms: Option<i64>,
    /// Fingerprint of the current version, for [`AcceptedVersion::Fingerprint`].
    pub(crate) fingerprint: SpecFingerprint,
    /// The accepted spec, if it is stored.
    pub(crate) before: Option<String>,
    /// The current spec, if it is stored.
    pub(crate) now: Option<String>,
    /// The difference line by line, as written by `diff -u`.
    pub(crate) diff: String,
}

impl ToolChangeTracker {
    /// Marks the tools that have changed according to the store, and compares later registrations. The
    /// returned future must run alongside the gateway.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read.
    pub(crate) async fn open(
        engine: Arc<Engine>,
        store: Store,
        clock: Arc<dyn Clock>,
    ) -> Result<(Arc<Self>, impl Future<Output = ()> + Send + use<>), StoreError> {
        let (queue, mut registered) = mpsc::channel::<RegisteredSpecs>(MAX_QUEUED);
        let changes = Arc::new(Self {
            engine,
            store,
            clock,
            queue,
            queue_capacity: Arc::new(Semaphore::new(MAX_QUEUED_KIB)),
            fingerprints: Arc::default(),
            marking: Default::default(),
        });
        changes.reload().await?;
        // Weak, because the worker must not keep the tracker alive; it ends with the last sender.
        let worker = Arc::downgrade(&changes);
        let work = async move {
            let mut batch = Vec::with_capacity(BATCH);
            while registered.recv_many(&mut batch, BATCH).await > 0 {
                let Some(changes) = worker.upgrade() else { return };
                changes.compare(std::mem::take(&mut batch)).await;
            }
        };
        Ok((changes, work))
    }

    /// Marks the tools that have changed according to the store.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read.
    pub(crate) async fn reload(&self) -> Result<(), StoreError> {
        let _marking = self.marking.lock().await;
        for (source, rows) in self.store.specs().all().await? {
            if let Ok(source) = source.parse::<Slug>() {
                self.mark(&source, &rows);
            }
        }
        Ok(())
    }

    /// Compares the tools that a source registers. If changed tools need the owner's approval, this returns
    /// after marking them, so that they can be listed only after that. Otherwise they are compared later.
    pub(crate) async fn submit(&self, source: &Slug, specs: &[Arc<ToolSpec>]) {
        if specs.is_empty() {
            return;
        }
        let holds = self.engine.policy().asks_for_changed_tools();
        let room = match holds {
            true => None,
            false => self.queue_capacity.clone().acquire_many_owned(kibibytes(specs)).await.ok(),
        };
        let registered = RegisteredSpecs { source: source.clone(), specs: specs.to_vec(), _permit: room };
        if holds {
            return self.compare(vec![registered]).await;
        }
        // Closed only if the gateway is stopping.
        let _ = self.queue.send(registered).await;
    }

    async fn compare(&self, batch: Vec<RegisteredSpecs>) {
        let fingerprints = self.fingerprints.clone();
        let hashed = tokio::task::spawn_blocking(move || fingerprint_batch(batch, &fingerprints));
        let rounds = hashed.await.unwrap_or_default();
        for round in &rounds {
            let Err(error) = self.record_specs(round).await else { continue };
            tracing::warn!(%error, "cannot compare tools with their accepted versions");
            if self.engine.policy().asks_for_changed_tools() {
                // Unknown tools wait for the owner as well.
                for (source, specs) in round {
                    for name in specs.keys() {
                        self.engine.changed_tools().set(&ToolId::new(source.clone(), name.clone()), true);
                    }
                }
            }
        }
    }

    async fn record_specs(&self, printed: &BTreeMap<Slug, SpecsByTool>) -> Result<(), StoreError> {
        let _marking = self.marking.lock().await;
        let tools: Vec<(&Slug, &str)> = printed
            .iter()
            .flat_map(|(source, specs)| specs.keys().map(move |name| (source, name.as_str())))
            .collect();
        let known = self.store.specs().of_tools(&tools).await?;
        let mut fresh = Vec::<SourceSpecs>::new();
        for (source, specs) in printed {
            let known = known.get(source).map(Vec::as_slice).unwrap_or_default();
            let is_known = |spec: &FingerprintedSpec| {
                let row = row_of(known, spec.spec.name().as_str());
                row.is_some_and(|row| row.current == spec.fingerprint)
            };
            let notes: Vec<_> = specs
                .values()
                .filter(|spec| !is_known(spec))
                .map(|spec| RegisteredSpec {
                    tool: spec.spec.name().to_string(),
                    fingerprint: spec.fingerprint,
                    document: text_of(&spec.spec),
                })
                .collect();
            self.mark(source, known);
            if !notes.is_empty() {
                fresh.push((source.clone(), notes));
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let noted: Vec<_> = fresh
            .iter()
            .map(|(source, notes)| {
                (source.clone(), notes.iter().map(|note| note.tool.clone()).collect::<Vec<_>>())
            })
            .collect();
        let rows = self.store.specs().register_many(fresh, self.clock.now_ms()).await?;
        for (source, tools) in &noted {
            let rows = rows.get(source).map(Vec::as_slice).unwrap_or_default();
            self.mark(source, rows);
            let (mut changed, mut first) = (0_usize, None);
            for tool in tools {
                let row = row_of(rows, tool);
                if row.is_none_or(SpecRow::is_changed) {
                    changed += 1;
                    first = first.or(Some(tool));
                }
                if row.is_none() {
                    // Above the limit of stored specs of one source, nothing is known about a tool.
                    self.mark_one(source, tool, true);
                }
            }
            // One line for all tools: a source must not be able to fill the log.
            if let Some(first) = first {
                tracing::warn!(%source, tools = changed, tool = first, "tools have changed");
            }
        }
        Ok(())
    }

    fn mark(&self, source: &Slug, rows: &[SpecRow]) {
        for row in rows {
            self.mark_one(source, &row.tool, row.is_changed());
        }
    }

    fn mark_one(&self, source: &Slug, tool: &str, changed: bool) {
        if let Ok(tool) = tool.parse() {
            let tool = ToolId::new(source.clone(), tool);
            if changed || self.engine.changed_tools().contains(&tool) {
                self.engine.changed_tools().set(&tool, changed);
            }
        }
    }

    /// Returns the difference between a tool's versions; `None` if it was never compared.
    ///
    /// # Errors
    /// [`StoreError`] if the store can't be read.
    pub(crate) async fn difference(&self, tool: &ToolId) -> Result<Option<SpecDifference>, StoreError> {
        // Both versions must be of the same time.
        let _marking = self.marking.lock().await;
        let rows = self.store.specs().of_source(&tool.source).await?;
        let Some(row) = rows.into_iter().find(|row| row.tool == tool.tool.as_str()) else { return Ok(None) };
        let before = self.store.specs().document(&row.approved).await?;
        let now = self.store.specs().document(&row.current).await?;
        let diff = match (&before, &now) {
            (Some(before), Some(now)) if row.is_changed() => {
                TextDiff::from_lines(before.as_str(), now.as_str())
                    .unified_diff()
                    .context_radius(3)
                    .header("accepted", "now")
                    .to_string()
            }
            _ => String::new(),
        };
        let changed = self.engine.changed_tools().contains(tool);
        let (changed_ms, fingerprint) = (row.changed_ms, row.current);
        Ok(Some(SpecDifference { changed, changed_ms, fingerprint, before, now, diff }))
    }

    /// Accepts a tool if it still has the accepted version. Returns whether it does.
    ///
    /// # Errors
    /// [`StoreError`] if that can't be stored.
    pub(crate) async fn accept(&self, tool: &ToolId, accepted: AcceptedVersion) -> Result<bool, StoreError> {
        let _marking = self.marking.lock().await;
        let rows = self.store.specs().of_source(&tool.source).await?;
        let Some(row) = rows.into_iter().find(|row| row.tool == tool.tool.as_str()) else { return Ok(false) };
        let wanted = match accepted {
            AcceptedVersion::Current => row.current,
            AcceptedVersion::Fingerprint(fingerprint) => fingerprint,
            AcceptedVersion::AsOf(at_ms) if row.changed_ms.is_none_or(|changed| changed <= at_ms) => {
                row.current
            }
            AcceptedVersion::AsOf(_) => return Ok(false),
        };
        let passed = self.store.specs().approve(&tool.source, tool.tool.as_str(), wanted).await?;
        if passed {
            self.engine.changed_tools().set(tool, false);
            tracing::info!(%tool, "a changed tool was accepted");
        }
        Ok(passed)
    }
}

/// Returns a spec as text. Its serialization succeeded before, when its fingerprint was calculated.
fn text_of(spec: &Arc<ToolSpec>) -> LazySpecDocument {
    let spec = Arc::clone(spec);
    LazySpecDocument::new(move || document::pretty(&spec))
}

/// Finds the row of a tool; rows are sorted by name.
fn row_of<'r>(rows: &'r [SpecRow], tool: &str) -> Option<&'r SpecRow> {
    let at = rows.binary_search_by(|row| row.tool.as_str().cmp(tool)).ok()?;
    rows.get(at)
}

#[cfg(test)]
mod tests;
