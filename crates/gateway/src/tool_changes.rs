//! Whether a tool is what it was: the specs that sources register are compared with those that the owner let pass.
//! A tool's first spec passes. Only sources that are kept are compared; what one connection brings and takes away
//! with it was never there before.

mod document;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use similar::TextDiff;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use toolway_core::{Engine, ToolSpec};
use toolway_store::{
    LazySpecDocument, RegisteredSpec, SourceSpecs, SpecFingerprint, SpecRow, Store, StoreError,
};
use toolway_types::{Clock, Slug, ToolId, ToolName};

/// Registrations that wait to be compared; a source that registers more waits itself.
const MAX_QUEUED: usize = 1024;
/// Kibibytes of specs in them.
const MAX_QUEUED_KIB: usize = 64 << 10;
/// Registrations that are compared in one go.
const BATCH: usize = 64;

/// Specs that are compared in one round.
const SPECS_PER_ROUND: usize = 64;

/// Compares specs.
#[derive(Debug)]
pub(crate) struct ToolChangeTracker {
    engine: Arc<Engine>,
    store: Store,
    clock: Arc<dyn Clock>,
    queue: mpsc::Sender<RegisteredSpecs>,
    queue_capacity: Arc<Semaphore>,
    /// Held from reading what is known to marking by it, so that no mark is older than another.
    marking: tokio::sync::Mutex<()>,
}

/// What of a tool is let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcceptedVersion {
    /// What it is now.
    Current,
    /// What has this fingerprint.
    Fingerprint(SpecFingerprint),
    /// What it was at this time, in milliseconds since the Unix epoch.
    AsOf(i64),
}

/// What a source registered.
#[derive(Debug)]
struct RegisteredSpecs {
    source: Slug,
    specs: Vec<Arc<ToolSpec>>,
    /// Its part of what may wait.
    _permit: Option<OwnedSemaphorePermit>,
}

/// A spec with its fingerprint.
struct FingerprintedSpec {
    spec: Arc<ToolSpec>,
    fingerprint: SpecFingerprint,
}

/// What a source registered last, by name.
type SpecsByTool = BTreeMap<ToolName, FingerprintedSpec>;

/// The fingerprints of all specs of a batch; equal specs are shared, so each is made once. Where a source registered
/// a tool in two ways, the second is in another round: what came first passes, and what came then is a change. A
/// round is small, since calls' records wait while it is written.
fn fingerprint_batch(batch: Vec<RegisteredSpecs>) -> Vec<BTreeMap<Slug, SpecsByTool>> {
    let mut made = HashMap::<*const ToolSpec, SpecFingerprint>::new();
    let mut rounds = Vec::new();
    let mut round = BTreeMap::<Slug, SpecsByTool>::new();
    let mut in_round = 0;
    for RegisteredSpecs { source, specs, .. } in batch {
        for spec in specs {
            // All specs of the batch were alive when it began, so no two of them have one address.
            let address = Arc::as_ptr(&spec);
            let fingerprint = *made.entry(address).or_insert_with(|| document::fingerprint(&spec));
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

/// How much there is to wait with, no more than may.
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

/// How a tool differs from what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecDifference {
    /// Whether it is marked as changed.
    pub(crate) changed: bool,
    /// When it changed, in milliseconds since the Unix epoch; none where it has not.
    pub(crate) changed_ms: Option<i64>,
    /// What it is now, for [`Accepted::This`].
    pub(crate) fingerprint: SpecFingerprint,
    /// The spec that passed, where it is kept.
    pub(crate) before: Option<String>,
    /// The spec it has now, where it is kept.
    pub(crate) now: Option<String>,
    /// Both, line by line, as `diff -u` writes it.
    pub(crate) diff: String,
}

impl ToolChangeTracker {
    /// Marks what has changed by what is stored, and compares from now on what is registered; the second part is
    /// to be run beside the gateway.
    ///
    /// # Errors
    /// Where the store can't be read.
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
            marking: Default::default(),
        });
        changes.reload().await?;
        // Not kept alive by its own worker, which ends with the last sender.
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

    /// Marks what has changed by what is stored.
    ///
    /// # Errors
    /// Where the store can't be read.
    pub(crate) async fn reload(&self) -> Result<(), StoreError> {
        let _marking = self.marking.lock().await;
        for (source, rows) in self.store.specs().all().await? {
            if let Ok(source) = source.parse::<Slug>() {
                self.mark(&source, &rows);
            }
        }
        Ok(())
    }

    /// A source registers tools. Where changed tools wait for the owner, this returns when they are marked, and
    /// only then may they be listed; otherwise they are compared later.
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
        // Closed only where the gateway is stopping.
        let _ = self.queue.send(registered).await;
    }

    async fn compare(&self, batch: Vec<RegisteredSpecs>) {
        let rounds = tokio::task::spawn_blocking(move || fingerprint_batch(batch)).await.unwrap_or_default();
        for round in &rounds {
            let Err(error) = self.record_specs(round).await else { continue };
            tracing::warn!(%error, "it could not be seen whether tools have changed");
            if self.engine.policy().asks_for_changed_tools() {
                // What can't be known waits for the owner as well.
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
                    // Past what is remembered of one source nothing is known of a tool.
                    self.mark_one(source, tool, true);
                }
            }
            // In one line, however many: what a source does must not fill the log.
            if let Some(first) = first {
                tracing::warn!(%source, tools = changed, tool = first, "tools are not what they were");
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

    /// How a tool differs from what it was; none where it was never compared.
    ///
    /// # Errors
    /// Where the store can't be read.
    pub(crate) async fn difference(&self, tool: &ToolId) -> Result<Option<SpecDifference>, StoreError> {
        // What is shown is what was at one time.
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

    /// Lets a tool pass, if it still is what is accepted. Answers whether it is.
    ///
    /// # Errors
    /// Where that can't be stored.
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

/// A spec's text. That it can be made was seen when its fingerprint was.
fn text_of(spec: &Arc<ToolSpec>) -> LazySpecDocument {
    let spec = Arc::clone(spec);
    LazySpecDocument::new(move || document::pretty(&spec))
}

/// The row of a tool; they are sorted by name.
fn row_of<'r>(rows: &'r [SpecRow], tool: &str) -> Option<&'r SpecRow> {
    let at = rows.binary_search_by(|row| row.tool.as_str().cmp(tool)).ok()?;
    rows.get(at)
}

#[cfg(test)]
mod tests;
