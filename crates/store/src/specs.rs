//! The approved and the current spec of each tool, so that a source cannot change a tool's description
//! unnoticed. The caller defines the content and the fingerprint of a spec.
//!
//! The first spec of a tool is approved automatically. A tool that is no longer offered keeps its row, so
//! that it cannot return with another spec.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row, SqliteConnection, SqliteExecutor};
use toolway_types::Slug;
use toolway_types::text::hex;

use crate::call_row::{RowColumns, parse_text};
use crate::database::Database;
use crate::error::StoreError;

/// SHA-256 of a document.
pub type SpecFingerprint = [u8; 32];

/// Maximum number of tools stored per source; four times the limit of a connection.
const MAX_TOOLS: usize = 16_384;
/// Maximum size of stored documents per source, in bytes.
const MAX_BYTES: usize = 64 << 20;
/// Maximum number of tools per statement.
const MAX_TOOLS_PER_STATEMENT: usize = 4096;
/// Maximum number of documents removed per statement.
const SWEEP_BATCH: i64 = 500;

/// A document that is only created when it is written, so that those of many tools are never in memory
/// together.
#[derive(Clone)]
pub struct LazySpecDocument(Arc<dyn Fn() -> String + Send + Sync>);

impl LazySpecDocument {
    /// Creates a document on demand. `make` must always return the same text. It runs on the writer's thread,
    /// so it must not panic.
    #[must_use]
    pub fn new(make: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// The text of the document.
    #[must_use]
    pub fn text(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for LazySpecDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazySpecDocument").finish_non_exhaustive()
    }
}

impl From<&str> for LazySpecDocument {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for LazySpecDocument {
    fn from(text: String) -> Self {
        Self::new(move || text.clone())
    }
}

/// A tool's spec at registration.
#[derive(Debug, Clone)]
pub struct RegisteredSpec {
    /// Name of the tool in its source.
    pub tool: String,
    /// Fingerprint of the document.
    pub fingerprint: SpecFingerprint,
    /// Document to show when the spec changes.
    pub document: LazySpecDocument,
}

/// Tools that a source registers.
pub type SourceSpecs = (Slug, Vec<RegisteredSpec>);

/// The accepted and the current spec of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecRow {
    /// Name of the tool in its source.
    pub tool: String,
    /// Fingerprint of the approved spec.
    pub approved: SpecFingerprint,
    /// Fingerprint of the spec at the last registration.
    pub current: SpecFingerprint,
    /// Time of the last change in milliseconds since the Unix epoch, if the two specs differ.
    pub changed_ms: Option<i64>,
}

impl SpecRow {
    /// True if the current spec differs from the approved one.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.approved != self.current
    }
}

/// The tables of specs.
#[derive(Debug, Clone, Copy)]
pub struct SpecRepository<'s>(pub(crate) &'s Database);

const READING: &str = "read of the specs";
const WRITING: &str = "writing of specs";
const USED: &str = "(SELECT accepted FROM tool_specs UNION SELECT current FROM tool_specs)";

impl SpecRepository<'_> {
    /// Lists the specs of all tools by source, sorted by name within each source.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn all(&self) -> Result<BTreeMap<String, Vec<SpecRow>>, StoreError> {
        const ALL: &str =
            "SELECT tool, accepted, current, changed_ms, source FROM tool_specs ORDER BY source, tool";
        let rows = self.0.rows(READING, sqlx::query(ALL)).await?;
        let mut all = BTreeMap::<String, Vec<SpecRow>>::new();
        for row in &rows {
            all.entry(RowColumns(row).required(4)?).or_default().push(read(row)?);
        }
        Ok(all)
    }

    /// Lists the specs of a source's tools, sorted by name.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn of_source(&self, source: &Slug) -> Result<Vec<SpecRow>, StoreError> {
        const OF: &str =
            "SELECT tool, accepted, current, changed_ms FROM tool_specs WHERE source = ? ORDER BY tool";
        let rows = sqlx::query(OF)
            .bind(source.to_string())
            .fetch_all(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        rows.iter().map(read).collect()
    }

    /// Lists the specs of some tools by source, sorted by name within each source. A source without stored
    /// specs is missing.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn of_tools(&self, tools: &[(&Slug, &str)]) -> Result<HashMap<Slug, Vec<SpecRow>>, StoreError> {
        of_pairs(self.0.readers(), &tools_json(tools.iter().copied())).await
    }

    /// Stores the specs of a registration, all or none. Writes nothing if nothing changed. Returns all specs
    /// of the source.
    ///
    /// A source can have 16,384 stored tools and 64 MiB of documents. A tool above the first limit is missing
    /// in the result and must count as changed; above the second limit only fingerprints are stored.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn register(
        &self,
        source: &Slug,
        specs: &[RegisteredSpec],
        at_ms: i64,
    ) -> Result<Vec<SpecRow>, StoreError> {
        self.register_many(vec![(source.clone(), specs.to_vec())], at_ms).await?;
        self.of_source(source).await
    }

    /// Does [`SpecRepository::register`] for several sources in one transaction, so that a thousand devices
    /// that connect at once need only a few. Returns only the specs of the registered tools.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn register_many(
        &self,
        notes: Vec<SourceSpecs>,
        at_ms: i64,
    ) -> Result<HashMap<Slug, Vec<SpecRow>>, StoreError> {
        let (rows, bytes) =
            self.0.write(move |conn| Box::pin(async move { write(conn, &notes, at_ms).await })).await?;
        // A source that keeps changing its tools leaves unused documents faster than retention removes them.
        let unswept = &self.0.unswept_bytes;
        if unswept.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MAX_BYTES {
            unswept.store(0, Ordering::Relaxed);
            if let Err(error) = remove_unused_documents(self.0).await {
                tracing::warn!(%error, "unused specs could not be removed");
            }
        }
        Ok(rows)
    }

    /// Approves a tool's current spec if it still has this fingerprint. Returns true if it had. The approval
    /// is then on disk.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn approve(
        &self,
        source: &Slug,
        tool: &str,
        fingerprint: SpecFingerprint,
    ) -> Result<bool, StoreError> {
        const APPROVE: &str = "UPDATE tool_specs SET accepted = current, changed_ms = NULL \
             WHERE source = ? AND tool = ? AND current = ?";
        let query =
            sqlx::query(APPROVE).bind(source.to_string()).bind(tool.to_owned()).bind(fingerprint.to_vec());
        self.0.change(WRITING, query).await
    }

    /// Finds a document by fingerprint. None if it is not stored.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn document(&self, fingerprint: &SpecFingerprint) -> Result<Option<String>, StoreError> {
        let row = sqlx::query("SELECT document FROM spec_documents WHERE fingerprint = ?")
            .bind(fingerprint.to_vec())
            .fetch_optional(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        row.map(|row| RowColumns(&row).required(0)).transpose()
    }

    /// Removes the specs of a source: the next specs it registers are approved as its first. Returns true if
    /// it had any.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn forget(&self, source: &Slug) -> Result<bool, StoreError> {
        self.0.change(WRITING, forget(source)).await
    }
}

/// The statement that removes the specs of a source.
pub(crate) fn forget(
    source: &Slug,
) -> sqlx::query::Query<'static, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    sqlx::query("DELETE FROM tool_specs WHERE source = ?").bind(source.to_string())
}

/// Removes documents that no tool uses.
pub(crate) async fn remove_unused_documents(database: &Database) -> Result<(), StoreError> {
    let find = format!("SELECT hex(fingerprint) FROM spec_documents WHERE fingerprint NOT IN {USED} LIMIT ?");
    // Checks again, because a document may be in use by now.
    let delete = format!(
        "DELETE FROM spec_documents WHERE fingerprint IN (SELECT unhex(value) FROM json_each(?)) \
         AND fingerprint NOT IN {USED}"
    );
    loop {
        let rows = sqlx::query(sqlx::AssertSqlSafe(find.clone()))
            .bind(SWEEP_BATCH)
            .fetch_all(database.readers())
            .await
            .map_err(StoreError::database(READING))?;
        if rows.is_empty() {
            return Ok(());
        }
        let unused = rows.iter().map(|row| RowColumns(row).required(0)).collect::<Result<Vec<_>, _>>()?;
        let unused = serde_json::Value::from(unused).to_string();
        let delete = sqlx::query(sqlx::AssertSqlSafe(delete.clone())).bind(unused);
        if !database.change("removal of old specs", delete).await? {
            return Ok(());
        }
    }
}

/// Encodes sources and tool names as one JSON text.
fn tools_json<'t>(tools: impl IntoIterator<Item = (&'t Slug, &'t str)>) -> String {
    let pair = |(source, tool): (&'t Slug, &'t str)| serde_json::Value::from(vec![source.as_str(), tool]);
    serde_json::Value::from_iter(tools.into_iter().map(pair)).to_string()
}

async fn of_pairs(
    executor: impl SqliteExecutor<'_>,
    pairs: &str,
) -> Result<HashMap<Slug, Vec<SpecRow>>, StoreError> {
    const OF: &str = "SELECT tool, accepted, current, changed_ms, source FROM tool_specs \
         WHERE (source, tool) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?)) ORDER BY source, tool";
    let rows =
        sqlx::query(OF).bind(pairs).fetch_all(executor).await.map_err(StoreError::database(READING))?;
    let mut all = HashMap::<Slug, Vec<SpecRow>>::new();
    for row in &rows {
        let source = parse_text("source name", &RowColumns(row).required(4)?)?;
        all.entry(source).or_default().push(read(row)?);
    }
    Ok(all)
}

/// Number of stored tools of a source.
async fn count_of(executor: impl SqliteExecutor<'_>, source: &Slug) -> Result<usize, StoreError> {
    let (count,): (i64,) = sqlx::query_as("SELECT count(*) FROM tool_specs WHERE source = ?")
        .bind(source.as_str())
        .fetch_one(executor)
        .await
        .map_err(StoreError::database(READING))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Size of the stored documents of a source in bytes.
async fn bytes_of(executor: impl SqliteExecutor<'_>, source: &Slug) -> Result<usize, StoreError> {
    const BYTES: &str = "SELECT coalesce(sum(octet_length(document)), 0) FROM spec_documents \
         WHERE fingerprint IN (SELECT accepted FROM tool_specs WHERE source = ?1 \
         UNION SELECT current FROM tool_specs WHERE source = ?1)";
    let (bytes,): (i64,) = sqlx::query_as(BYTES)
        .bind(source.as_str())
        .fetch_one(executor)
        .await
        .map_err(StoreError::database(READING))?;
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Selects the specs that differ from the stored ones, as far as there is room for more tools besides the
/// `held` ones.
fn changed_specs<'s>(
    source: &Slug,
    known: &[SpecRow],
    held: usize,
    specs: &'s [RegisteredSpec],
) -> Vec<&'s RegisteredSpec> {
    let current: HashMap<&str, &SpecFingerprint> =
        known.iter().map(|row| (row.tool.as_str(), &row.current)).collect();
    let mut room = MAX_TOOLS.saturating_sub(held);
    let mut fresh = Vec::new();
    let mut refused = 0_usize;
    for spec in specs {
        match current.get(spec.tool.as_str()) {
            Some(current) if **current == spec.fingerprint => {}
            Some(_) => fresh.push(spec),
            None if room > 0 => {
                room -= 1;
                fresh.push(spec);
            }
            None => refused += 1,
        }
    }
    if refused > 0 {
        tracing::warn!(%source, tools = refused, "the specs of some tools are not stored: there are too many");
    }
    fresh
}

/// A row to insert.
#[derive(Serialize)]
struct SpecInsertRow<'s> {
    source: &'s str,
    tool: &'s str,
    fingerprint: String,
}

/// Writes changed specs. Returns the stored specs of the tools, and the number of bytes written.
async fn write(
    conn: &mut SqliteConnection,
    notes: &[SourceSpecs],
    at_ms: i64,
) -> Result<(HashMap<Slug, Vec<SpecRow>>, usize), StoreError> {
    const TOOLS: &str = "INSERT INTO tool_specs (source, tool, accepted, current) \
         SELECT value ->> 'source', value ->> 'tool', unhex(value ->> 'fingerprint'), \
         unhex(value ->> 'fingerprint') FROM json_each(?1) WHERE true \
         ON CONFLICT (source, tool) DO UPDATE SET current = excluded.current, \
         changed_ms = CASE WHEN accepted = excluded.current THEN NULL ELSE ?2 END \
         WHERE current <> excluded.current";
    let noted = tools_json(
        notes.iter().flat_map(|(source, specs)| specs.iter().map(move |spec| (source, spec.tool.as_str()))),
    );
    let failed = || StoreError::database(WRITING);
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await.map_err(failed())?;
    let known = of_pairs(&mut *transaction, &noted).await?;
    let mut documents = DocumentBatch::of_stored(&mut transaction, notes).await?;
    let mut lines = Vec::new();
    for (source, specs) in notes {
        let held = count_of(&mut *transaction, source).await?;
        let known = known.get(source).map(Vec::as_slice).unwrap_or_default();
        let fresh = changed_specs(source, known, held, specs);
        // A source without stored specs has no stored documents either.
        let used =
            if held == 0 || fresh.is_empty() { 0 } else { bytes_of(&mut *transaction, source).await? };
        let mut room = MAX_BYTES.saturating_sub(used);
        for spec in fresh {
            documents.write(&mut transaction, spec, &mut room).await.map_err(failed())?;
            let (source, fingerprint) = (source.as_str(), hex(&spec.fingerprint));
            lines.push(SpecInsertRow { source, tool: &spec.tool, fingerprint });
        }
    }
    if lines.is_empty() {
        return Ok((known, 0));
    }
    let mut bytes = documents.bytes;
    for lines in lines.chunks(MAX_TOOLS_PER_STATEMENT) {
        let lines = serde_json::to_string(lines).unwrap_or_default();
        bytes += lines.len();
        let query = sqlx::query(TOOLS).bind(lines).bind(at_ms);
        query.execute(&mut *transaction).await.map_err(failed())?;
    }
    let rows = of_pairs(&mut *transaction, &noted).await?;
    transaction.commit().await.map_err(failed())?;
    // The written documents would stay in the page cache, and nothing reads them again.
    let shrink = sqlx::query("PRAGMA shrink_memory").persistent(false);
    if let Err(error) = shrink.execute(conn).await {
        tracing::debug!(%error, "the page cache could not be emptied");
    }
    Ok((rows, bytes))
}

/// The documents of one transaction.
#[derive(Default)]
struct DocumentBatch {
    /// Lengths of the documents.
    lengths: HashMap<SpecFingerprint, usize>,
    /// Fingerprints of the documents that are stored or were just written.
    written: HashSet<SpecFingerprint>,
    bytes: usize,
}

impl DocumentBatch {
    /// Starts with the documents of these specs that are stored already. Most devices of one kind have the same, and
    /// neither their texts nor their lengths have to be made again.
    async fn of_stored(conn: &mut SqliteConnection, notes: &[SourceSpecs]) -> Result<Self, StoreError> {
        const STORED: &str = "SELECT fingerprint, octet_length(document) FROM spec_documents \
             WHERE fingerprint IN (SELECT unhex(value) FROM json_each(?))";
        let wanted: BTreeSet<_> =
            notes.iter().flat_map(|(_, specs)| specs.iter().map(|spec| spec.fingerprint)).collect();
        let wanted = serde_json::Value::from_iter(wanted.iter().map(|it| hex(it))).to_string();
        let rows =
            sqlx::query(STORED).bind(wanted).fetch_all(conn).await.map_err(StoreError::database(READING))?;
        let mut stored = Self::default();
        for row in &rows {
            let length = usize::try_from(RowColumns(row).number(1)?).unwrap_or(usize::MAX);
            stored.lengths.insert(fingerprint(row, 0)?, length);
        }
        stored.written = stored.lengths.keys().copied().collect();
        Ok(stored)
    }

    /// Writes a document if there is room for it.
    async fn write(
        &mut self,
        conn: &mut SqliteConnection,
        spec: &RegisteredSpec,
        room: &mut usize,
    ) -> Result<(), sqlx::Error> {
        const DOCUMENT: &str =
            "INSERT INTO spec_documents (fingerprint, document) VALUES (?, ?) ON CONFLICT DO NOTHING";
        let mut made = None;
        let length = *self.lengths.entry(spec.fingerprint).or_insert_with(|| {
            let text = spec.document.text();
            made.insert(text).len()
        });
        if length > *room {
            return Ok(());
        }
        *room -= length;
        if self.written.insert(spec.fingerprint) {
            self.bytes += length;
            let text = made.unwrap_or_else(|| spec.document.text());
            let query = sqlx::query(DOCUMENT).bind(spec.fingerprint.to_vec()).bind(text);
            query.execute(conn).await?;
        }
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<SpecRow, StoreError> {
    Ok(SpecRow {
        tool: RowColumns(row).required(0)?,
        approved: fingerprint(row, 1)?,
        current: fingerprint(row, 2)?,
        changed_ms: RowColumns(row).number_or_none(3)?,
    })
}

fn fingerprint(row: &SqliteRow, at: usize) -> Result<SpecFingerprint, StoreError> {
    let bytes: &[u8] = row.try_get(at).map_err(StoreError::database("read"))?;
    bytes.try_into().map_err(|_| StoreError::BadValue {
        what: "fingerprint of a spec",
        text: format!("{} bytes", bytes.len()),
    })
}

#[cfg(test)]
mod tests;
