//! Usage of tools, counted from call records in bounded steps.

use std::collections::HashMap;

use serde::Serialize;
use sqlx::{QueryBuilder, Sqlite};
use toolway_types::ToolId;

use super::report::{MAX_ROWS, UsageFilter};
use super::{READING, UsageRepository};
use crate::call_row::{RowColumns, parse_text};
use crate::error::StoreError;

/// Number of call records per step.
pub(super) const STEP_ROWS: i64 = 16_384;

/// Usage of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolUsageRow {
    /// The tool.
    pub tool: ToolId,
    /// Number of finished calls.
    pub calls: u64,
    /// Number of failed calls.
    pub errors: u64,
    /// Total duration of the calls from acceptance to outcome, in microseconds.
    pub total_us: u64,
    /// Time that the tool ran, part of the total, in microseconds.
    pub running_us: u64,
}

impl UsageRepository<'_> {
    /// Reports the usage of tools, those with the most calls first, at most 1,000. Only calls whose records
    /// still exist count.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn tools(&self, filter: &UsageFilter) -> Result<Vec<ToolUsageRow>, StoreError> {
        self.0.flush_before_read().await;
        let mut tools = HashMap::<(String, String), [u64; 4]>::new();
        let Some((mut from, last)) = self.seq_range(filter).await? else { return Ok(Vec::new()) };
        while from <= last {
            let to = from.saturating_add(STEP_ROWS);
            self.add_step(filter, from, to, &mut tools).await?;
            from = to;
        }
        let mut rows = Vec::with_capacity(tools.len());
        for ((source, tool), [calls, errors, total_us, running_us]) in tools {
            let tool = ToolId::new(parse_text("source name", &source)?, parse_text("tool name", &tool)?);
            rows.push(ToolUsageRow { tool, calls, errors, total_us, running_us });
        }
        rows.sort_by(|one, other| {
            other.calls.cmp(&one.calls).then_with(|| one.tool.to_string().cmp(&other.tool.to_string()))
        });
        rows.truncate(MAX_ROWS);
        Ok(rows)
    }

    /// Range of sequence numbers of the calls that started in the requested time. Reads only an index.
    async fn seq_range(&self, filter: &UsageFilter) -> Result<Option<(i64, i64)>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT min(seq), max(seq) FROM calls WHERE true");
        filter.push_times(&mut sql);
        let row = sql.build().fetch_one(self.0.readers()).await.map_err(StoreError::database(READING))?;
        let columns = RowColumns(&row);
        Ok(columns.number_or_none(0)?.zip(columns.number_or_none(1)?))
    }

    async fn add_step(
        &self,
        filter: &UsageFilter,
        from: i64,
        to: i64,
        tools: &mut HashMap<(String, String), [u64; 4]>,
    ) -> Result<(), StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new(
            "SELECT source, tool, count(*), sum(status = 2), sum(total_us), sum(running_us) FROM calls \
             WHERE status <> 0 AND source IS NOT NULL AND tool IS NOT NULL AND seq >= ",
        );
        sql.push_bind(from).push(" AND seq < ").push_bind(to);
        if let Some(principal) = &filter.principal {
            sql.push(" AND principal = ").push_bind(principal.clone());
        }
        // `+` keeps SQLite from using the index on time instead of the sequence number.
        if let Some(from) = filter.from_ms {
            sql.push(" AND +started_ms >= ").push_bind(from);
        }
        if let Some(to) = filter.to_ms {
            sql.push(" AND +started_ms < ").push_bind(to);
        }
        sql.push(" GROUP BY source, tool");
        let _alone = self.0.search_lock.lock().await;
        let rows = sql.build().fetch_all(self.0.readers()).await.map_err(StoreError::database(READING))?;
        for row in &rows {
            let columns = RowColumns(row);
            let sums = tools.entry((columns.required(0)?, columns.required(1)?)).or_default();
            for (at, sum) in (2..).zip(sums) {
                *sum = sum.saturating_add(columns.count(at)?);
            }
        }
        Ok(())
    }
}
