//! Whether a tool is what it was: the specs that sources register are compared with those that the owner let pass.
//! A tool's first spec passes. Only sources that are kept are compared; what one connection brings and takes away
//! with it was never there before.

mod document;

use std::sync::Arc;

use similar::TextDiff;
use tokio::sync::mpsc;
use toolway_core::{Engine, ToolSpec};
use toolway_store::{Fingerprint, SpecNote, SpecRow, Store, StoreError};
use toolway_types::{Clock, Slug, ToolId};

/// Registrations that wait to be compared; a source that registers more waits itself.
const WAITING: usize = 1024;

/// Compares specs.
#[derive(Debug)]
pub(crate) struct Changes {
    engine: Arc<Engine>,
    store: Store,
    clock: Arc<dyn Clock>,
    queue: mpsc::Sender<Registered>,
    /// Held from reading what is known to marking by it, so that no mark is older than another.
    marking: tokio::sync::Mutex<()>,
}

/// What of a tool is let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// What it is now.
    Now,
    /// What has this fingerprint.
    This(Fingerprint),
    /// What it was at this time, in milliseconds since the Unix epoch.
    AsOf(i64),
}

/// What a source registered.
#[derive(Debug)]
struct Registered {
    source: Slug,
    specs: Vec<Arc<ToolSpec>>,
}

/// How a tool differs from what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Whether it is marked as changed.
    pub(crate) changed: bool,
    /// When it changed, in milliseconds since the Unix epoch; none where it has not.
    pub(crate) changed_ms: Option<i64>,
    /// What it is now, for [`Accepted::This`].
    pub(crate) fingerprint: Fingerprint,
    /// The spec that passed, where it is kept.
    pub(crate) before: Option<String>,
    /// The spec it has now, where it is kept.
    pub(crate) now: Option<String>,
    /// Both, line by line, as `diff -u` writes it.
    pub(crate) diff: String,
}

impl Changes {
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
        let (queue, mut registered) = mpsc::channel::<Registered>(WAITING);
        let changes = Arc::new(Self { engine, store, clock, queue, marking: Default::default() });
        changes.reload().await?;
        // Not kept alive by its own worker, which ends with the last sender.
        let worker = Arc::downgrade(&changes);
        let work = async move {
            while let Some(it) = registered.recv().await {
                let Some(changes) = worker.upgrade() else { return };
                changes.compare(&it.source, &it.specs).await;
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
    pub(crate) async fn registered(&self, source: &Slug, specs: &[Arc<ToolSpec>]) {
        if specs.is_empty() {
            return;
        }
        if self.engine.policy().holds_changed_tools() {
            return self.compare(source, specs).await;
        }
        // Closed only where the gateway is stopping.
        let _ = self.queue.send(Registered { source: source.clone(), specs: specs.to_vec() }).await;
    }

    async fn compare(&self, source: &Slug, specs: &[Arc<ToolSpec>]) {
        if let Err(error) = self.note(source, specs).await {
            tracing::warn!(%source, %error, "it could not be seen whether tools have changed");
            if self.engine.policy().holds_changed_tools() {
                // What can't be known waits for the owner as well.
                for spec in specs {
                    self.engine.changed().set(&ToolId::new(source.clone(), spec.name().clone()), true);
                }
            }
        }
    }

    async fn note(&self, source: &Slug, specs: &[Arc<ToolSpec>]) -> Result<(), StoreError> {
        let specs = specs.to_vec();
        let now = tokio::task::spawn_blocking(move || {
            specs.iter().map(|spec| (spec.clone(), document::fingerprint(spec))).collect::<Vec<_>>()
        });
        let now = now.await.unwrap_or_default();
        let _marking = self.marking.lock().await;
        let known = self.store.specs().of(source).await?;
        let is_known = |spec: &ToolSpec, fingerprint: &Fingerprint| {
            row_of(&known, spec.name().as_str()).is_some_and(|row| row.current == *fingerprint)
        };
        let fresh: Vec<_> = now
            .iter()
            .filter(|(spec, fingerprint)| !is_known(spec, fingerprint))
            .map(|(spec, fingerprint)| SpecNote {
                tool: spec.name().to_string(),
                fingerprint: *fingerprint,
                document: document::pretty(spec),
            })
            .collect();
        let rows = match fresh.is_empty() {
            true => known,
            false => self.store.specs().note(source, &fresh, self.clock.now_ms()).await?,
        };
        for note in &fresh {
            let row = row_of(&rows, &note.tool);
            if row.is_none_or(SpecRow::is_changed) {
                tracing::warn!(%source, tool = note.tool, "a tool is not what it was");
            }
        }
        self.mark(source, &rows);
        // Past what is remembered of one source nothing is known of a tool.
        for note in fresh.iter().filter(|note| row_of(&rows, &note.tool).is_none()) {
            self.mark_one(source, &note.tool, true);
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
            if changed || self.engine.changed().contains(&tool) {
                self.engine.changed().set(&tool, changed);
            }
        }
    }

    /// How a tool differs from what it was; none where it was never compared.
    ///
    /// # Errors
    /// Where the store can't be read.
    pub(crate) async fn difference(&self, tool: &ToolId) -> Result<Option<Difference>, StoreError> {
        // What is shown is what was at one time.
        let _marking = self.marking.lock().await;
        let rows = self.store.specs().of(&tool.source).await?;
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
        let changed = self.engine.changed().contains(tool);
        let (changed_ms, fingerprint) = (row.changed_ms, row.current);
        Ok(Some(Difference { changed, changed_ms, fingerprint, before, now, diff }))
    }

    /// Lets a tool pass, if it still is what is accepted. Answers whether it is.
    ///
    /// # Errors
    /// Where that can't be stored.
    pub(crate) async fn accept(&self, tool: &ToolId, accepted: Accepted) -> Result<bool, StoreError> {
        let _marking = self.marking.lock().await;
        let rows = self.store.specs().of(&tool.source).await?;
        let Some(row) = rows.into_iter().find(|row| row.tool == tool.tool.as_str()) else { return Ok(false) };
        let wanted = match accepted {
            Accepted::Now => row.current,
            Accepted::This(fingerprint) => fingerprint,
            Accepted::AsOf(at_ms) if row.changed_ms.is_none_or(|changed| changed <= at_ms) => row.current,
            Accepted::AsOf(_) => return Ok(false),
        };
        let passed = self.store.specs().approve(&tool.source, tool.tool.as_str(), wanted).await?;
        if passed {
            self.engine.changed().set(tool, false);
            tracing::info!(%tool, "a changed tool was accepted");
        }
        Ok(passed)
    }
}

/// The row of a tool; they are sorted by name.
fn row_of<'r>(rows: &'r [SpecRow], tool: &str) -> Option<&'r SpecRow> {
    let at = rows.binary_search_by(|row| row.tool.as_str().cmp(tool)).ok()?;
    rows.get(at)
}

#[cfg(test)]
mod tests;
