//! Which spec each tool had when its owner let it pass, and which it has now: so that a source can't change in
//! silence what a tool says of itself. What is a spec, and how its fingerprint is made, is others' business.
//!
//! A tool's first spec passes. A tool that is no longer offered keeps its row, so that it can't come back as
//! another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Row, SqliteConnection};
use toolway_types::Slug;

use crate::call_row::{Columns, parsed};
use crate::error::StoreError;
use crate::store::Store;

/// SHA-256 of a document.
pub type Fingerprint = [u8; 32];

/// Most tools of one source that are remembered; four times what a connection may offer.
const MAX_TOOLS: usize = 16_384;
/// Most bytes of documents that are kept of one source.
const MAX_BYTES: usize = 64 << 20;
/// Most bytes of documents that one statement writes.
const CHUNK_BYTES: usize = 1 << 20;
/// Most documents that are swept at a time.
const SWEPT: i64 = 500;

/// A tool as it was registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecNote {
    /// Its name at its source.
    pub tool: String,
    /// Its document's fingerprint.
    pub fingerprint: Fingerprint,
    /// What is shown when it changes.
    pub document: Arc<str>,
}

/// Tools that a source registers.
pub type SourceNotes = (Slug, Vec<SpecNote>);

/// What is known of a tool's specs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecRow {
    /// The tool's name at its source.
    pub tool: String,
    /// The spec that its owner let pass.
    pub approved: Fingerprint,
    /// The one that it was last registered with.
    pub current: Fingerprint,
    /// Where they differ, when it last changed, in milliseconds since the Unix epoch.
    pub changed_ms: Option<i64>,
}

impl SpecRow {
    /// Whether the tool has another spec than its owner let pass.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.approved != self.current
    }
}

/// The tables of specs.
#[derive(Debug, Clone, Copy)]
pub struct Specs<'s>(pub(crate) &'s Store);

const READING: &str = "read of the specs";
const WRITING: &str = "writing of specs";
const USED: &str = "(SELECT approved FROM tool_specs UNION SELECT current FROM tool_specs)";

impl Specs<'_> {
    /// What is known of every tool, by source, each source's by name.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn all(&self) -> Result<BTreeMap<String, Vec<SpecRow>>, StoreError> {
        const ALL: &str =
            "SELECT tool, approved, current, changed_ms, source FROM tool_specs ORDER BY source, tool";
        let rows =
            sqlx::query(ALL).fetch_all(self.0.readers()).await.map_err(StoreError::database(READING))?;
        let mut all = BTreeMap::<String, Vec<SpecRow>>::new();
        for row in &rows {
            all.entry(Columns(row).required(4)?).or_default().push(read(row)?);
        }
        Ok(all)
    }

    /// What is known of a source's tools, by name.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn of(&self, source: &Slug) -> Result<Vec<SpecRow>, StoreError> {
        const OF: &str =
            "SELECT tool, approved, current, changed_ms FROM tool_specs WHERE source = ? ORDER BY tool";
        let rows = sqlx::query(OF)
            .bind(source.to_string())
            .fetch_all(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        rows.iter().map(read).collect()
    }

    /// What is known of the tools of several sources, each one's by name; a source of which nothing is known is
    /// missing.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn of_many(
        &self,
        sources: impl IntoIterator<Item = &Slug>,
    ) -> Result<HashMap<Slug, Vec<SpecRow>>, StoreError> {
        const OF: &str = "SELECT tool, approved, current, changed_ms, source FROM tool_specs \
             WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source, tool";
        let sources: Vec<_> = sources.into_iter().map(Slug::as_str).collect();
        let rows = sqlx::query(OF)
            .bind(serde_json::Value::from(sources).to_string())
            .fetch_all(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        let mut all = HashMap::<Slug, Vec<SpecRow>>::new();
        for row in &rows {
            let source = parsed("source name", &Columns(row).required(4)?)?;
            all.entry(source).or_default().push(read(row)?);
        }
        Ok(all)
    }

    /// Notes tools as a source registers them, all or none. Where nothing is new, nothing is written. Answers
    /// what is known of all the source's tools now.
    ///
    /// Of a source, 16,384 tools are remembered and 64 MiB of documents kept. A tool past the first is missing
    /// in the answer, and must count as changed; past the second only fingerprints are kept.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn note(
        &self,
        source: &Slug,
        specs: &[SpecNote],
        at_ms: i64,
    ) -> Result<Vec<SpecRow>, StoreError> {
        let mut all = self.note_many(&[(source.clone(), specs.to_vec())], at_ms).await?;
        Ok(all.remove(source).unwrap_or_default())
    }

    /// Does [`Specs::note`] for several sources in one transaction: a thousand devices that come at once cost a
    /// few statements.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn note_many(
        &self,
        notes: &[SourceNotes],
        at_ms: i64,
    ) -> Result<HashMap<Slug, Vec<SpecRow>>, StoreError> {
        let sources = || notes.iter().map(|(source, _)| source);
        let known = self.of_many(sources()).await?;
        let mut chunks = Chunks::default();
        for (source, specs) in notes {
            let known = known.get(source).map(Vec::as_slice).unwrap_or_default();
            let fresh = what_is_new(source, known, specs);
            // Of a source of which nothing is known nothing is kept either.
            let used = if known.is_empty() || fresh.is_empty() { 0 } else { self.bytes_of(source).await? };
            chunks.add(source, &fresh, MAX_BYTES.saturating_sub(used));
        }
        let chunks = chunks.texts();
        if chunks.is_empty() {
            return Ok(known);
        }
        let bytes: usize = chunks.iter().map(String::len).sum();
        self.0
            .write(move |conn| {
                Box::pin(
                    async move { write(conn, chunks, at_ms).await.map_err(StoreError::database(WRITING)) },
                )
            })
            .await?;
        // A source that changes its tools again and again leaves documents behind faster than retention comes by.
        let unswept = &self.0.inner().unswept;
        if unswept.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) > MAX_BYTES {
            unswept.store(0, Ordering::Relaxed);
            if let Err(error) = sweep(self.0).await {
                tracing::warn!(%error, "specs that no tool has any more could not be thrown away");
            }
        }
        self.of_many(sources()).await
    }

    /// Lets a tool's current spec pass, if it still is the one with this fingerprint. Answers whether it was.
    /// It is on disk then.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn approve(
        &self,
        source: &Slug,
        tool: &str,
        fingerprint: Fingerprint,
    ) -> Result<bool, StoreError> {
        const APPROVE: &str = "UPDATE tool_specs SET approved = current, changed_ms = NULL \
             WHERE source = ? AND tool = ? AND current = ?";
        let query =
            sqlx::query(APPROVE).bind(source.to_string()).bind(tool.to_owned()).bind(fingerprint.to_vec());
        self.0.change(WRITING, query).await
    }

    /// A document; none where it is not kept.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn document(&self, fingerprint: &Fingerprint) -> Result<Option<String>, StoreError> {
        let row = sqlx::query("SELECT document FROM spec_documents WHERE fingerprint = ?")
            .bind(fingerprint.to_vec())
            .fetch_optional(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        row.map(|row| Columns(&row).required(0)).transpose()
    }

    /// Forgets a source's tools: the next specs it registers pass as its first. Answers whether it had any.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn forget(&self, source: &Slug) -> Result<bool, StoreError> {
        self.0.change(WRITING, forget(source)).await
    }

    async fn bytes_of(&self, source: &Slug) -> Result<usize, StoreError> {
        const BYTES: &str = "SELECT coalesce(sum(octet_length(document)), 0) FROM spec_documents \
             WHERE fingerprint IN (SELECT approved FROM tool_specs WHERE source = ?1 \
             UNION SELECT current FROM tool_specs WHERE source = ?1)";
        let (bytes,): (i64,) = sqlx::query_as(BYTES)
            .bind(source.to_string())
            .fetch_one(self.0.readers())
            .await
            .map_err(StoreError::database(READING))?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

/// The statement that forgets a source's tools.
pub(crate) fn forget(
    source: &Slug,
) -> sqlx::query::Query<'static, sqlx::Sqlite, sqlx::sqlite::SqliteArguments> {
    sqlx::query("DELETE FROM tool_specs WHERE source = ?").bind(source.to_string())
}

/// Throws away documents that no tool has any more.
pub(crate) async fn sweep(store: &Store) -> Result<(), StoreError> {
    let find = format!("SELECT hex(fingerprint) FROM spec_documents WHERE fingerprint NOT IN {USED} LIMIT ?");
    // One of them may be in use again by now.
    let delete = format!(
        "DELETE FROM spec_documents WHERE fingerprint IN (SELECT unhex(value) FROM json_each(?)) \
         AND fingerprint NOT IN {USED}"
    );
    loop {
        let rows = sqlx::query(sqlx::AssertSqlSafe(find.clone()))
            .bind(SWEPT)
            .fetch_all(store.readers())
            .await
            .map_err(StoreError::database(READING))?;
        if rows.is_empty() {
            return Ok(());
        }
        let unused = rows.iter().map(|row| Columns(row).required(0)).collect::<Result<Vec<_>, _>>()?;
        let unused = serde_json::Value::from(unused).to_string();
        let delete = sqlx::query(sqlx::AssertSqlSafe(delete.clone())).bind(unused);
        if !store.change("removal of old specs", delete).await? {
            return Ok(());
        }
    }
}

/// The specs that are not what is known, as far as there is room for more tools.
fn what_is_new<'s>(source: &Slug, known: &[SpecRow], specs: &'s [SpecNote]) -> Vec<&'s SpecNote> {
    let current: HashMap<&str, &Fingerprint> =
        known.iter().map(|row| (row.tool.as_str(), &row.current)).collect();
    let mut room = MAX_TOOLS.saturating_sub(known.len());
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
        tracing::warn!(%source, tools = refused, "the specs of some tools are not remembered: there are too many");
    }
    fresh
}

/// A spec on its way into the database.
#[derive(Serialize)]
struct Line<'s> {
    source: &'s str,
    tool: &'s str,
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'s str>,
}

/// Specs as JSON texts, each a list for one statement.
#[derive(Default)]
struct Chunks<'s> {
    texts: Vec<String>,
    lines: Vec<Line<'s>>,
    bytes: usize,
    /// The documents that stand in one of them already.
    sent: HashSet<Fingerprint>,
}

impl<'s> Chunks<'s> {
    /// Adds a source's specs; documents as far as there is room.
    fn add(&mut self, source: &'s Slug, specs: &[&'s SpecNote], mut room: usize) {
        for spec in specs {
            let fits = spec.document.len() <= room;
            if fits {
                room -= spec.document.len();
            }
            let is_new = fits && self.sent.insert(spec.fingerprint);
            let document = is_new.then_some(&*spec.document);
            self.bytes += spec.tool.len() + document.map_or(0, str::len);
            let (source, fingerprint) = (source.as_str(), hex(&spec.fingerprint));
            self.lines.push(Line { source, tool: &spec.tool, fingerprint, document });
            if self.bytes > CHUNK_BYTES {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if !self.lines.is_empty() {
            self.texts.extend(serde_json::to_string(&self.lines));
        }
        self.lines.clear();
        self.bytes = 0;
    }

    fn texts(mut self) -> Vec<String> {
        self.end();
        self.texts
    }
}

async fn write(conn: &mut SqliteConnection, chunks: Vec<String>, at_ms: i64) -> Result<(), sqlx::Error> {
    const DOCUMENTS: &str = "INSERT INTO spec_documents (fingerprint, document) \
         SELECT unhex(value ->> 'fingerprint'), value ->> 'document' FROM json_each(?) \
         WHERE value ->> 'document' IS NOT NULL ON CONFLICT DO NOTHING";
    const TOOLS: &str = "INSERT INTO tool_specs (source, tool, approved, current) \
         SELECT value ->> 'source', value ->> 'tool', unhex(value ->> 'fingerprint'), \
         unhex(value ->> 'fingerprint') FROM json_each(?1) WHERE true \
         ON CONFLICT (source, tool) DO UPDATE SET current = excluded.current, \
         changed_ms = CASE WHEN approved = excluded.current THEN NULL ELSE ?2 END \
         WHERE current <> excluded.current";
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
    for chunk in chunks {
        sqlx::query(DOCUMENTS).bind(chunk.as_str()).execute(&mut *transaction).await?;
        sqlx::query(TOOLS).bind(chunk.as_str()).bind(at_ms).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read(row: &SqliteRow) -> Result<SpecRow, StoreError> {
    Ok(SpecRow {
        tool: Columns(row).required(0)?,
        approved: fingerprint(row, 1)?,
        current: fingerprint(row, 2)?,
        changed_ms: Columns(row).number_or_none(3)?,
    })
}

fn fingerprint(row: &SqliteRow, at: usize) -> Result<Fingerprint, StoreError> {
    let bytes: &[u8] = row.try_get(at).map_err(StoreError::database("read"))?;
    bytes.try_into().map_err(|_| StoreError::BadValue {
        what: "fingerprint of a spec",
        text: format!("{} bytes", bytes.len()),
    })
}

#[cfg(test)]
mod tests;
