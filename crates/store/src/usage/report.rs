//! Reports model usage by day, model, agent, session or principal.

use std::cmp::Ordering;

use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use super::{READING, UsageRepository};
use crate::call_row::RowColumns;
use crate::error::StoreError;
use crate::token_counts::TokenCounts;

/// Maximum number of rows in a report.
pub(super) const MAX_ROWS: usize = 1000;

/// Key by which usage is grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelUsageGrouping {
    /// By day, such as `2026-11-05`.
    Day,
    /// By model, `NAME/ID`.
    Model,
    /// By agent.
    Agent,
    /// By session. Requests without a session, or of a removed one, form one group.
    Session,
    /// By principal.
    Principal,
}

/// Filter for model requests. The default matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageFilter {
    /// Principal to include. None includes all principals.
    pub principal: Option<String>,
    /// Earliest start, inclusive, in milliseconds since the Unix epoch.
    pub from_ms: Option<i64>,
    /// Latest start, exclusive, in milliseconds since the Unix epoch.
    pub to_ms: Option<i64>,
    /// Offset of the reader's clock from UTC in seconds. It determines the start of days.
    pub zone_offset_s: i32,
}

/// A row of a usage report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelUsageRow {
    /// Key of the group. None for requests without a session.
    pub key: Option<String>,
    /// Number of requests.
    pub requests: u64,
    /// Number of failed requests.
    pub failed: u64,
    /// Reported tokens.
    pub tokens: TokenCounts,
    /// Known cost. None if no cost is known.
    pub cost: Option<f64>,
    /// Currency of `cost`.
    pub currency: Option<String>,
    /// Number of requests that used tokens but have no known cost.
    pub unpriced: u64,
    /// Total duration in milliseconds.
    pub duration_ms: u64,
}

impl UsageRepository<'_> {
    /// Reports usage. Days are in chronological order; other groups are sorted by cost, then by tokens,
    /// highest first. At most 1,000 rows: the last days, or the most expensive groups. A key has one row per
    /// currency.
    ///
    /// # Errors
    /// Fails if SQLite fails.
    pub async fn report(
        &self,
        by: ModelUsageGrouping,
        filter: &UsageFilter,
    ) -> Result<Vec<ModelUsageRow>, StoreError> {
        let mut sql = QueryBuilder::<Sqlite>::new("SELECT ");
        match by {
            ModelUsageGrouping::Day => {
                let offset_ms = i64::from(filter.zone_offset_s) * 1000;
                sql.push("strftime('%Y-%m-%d', (started_ms + ").push_bind(offset_ms);
                sql.push(") / 1000, 'unixepoch')");
            }
            ModelUsageGrouping::Model => drop(sql.push("provider || '/' || model")),
            ModelUsageGrouping::Agent => drop(sql.push("agent")),
            ModelUsageGrouping::Session => drop(sql.push("session")),
            ModelUsageGrouping::Principal => drop(sql.push("principal")),
        }
        sql.push(
            ", currency, count(*), sum(status <> 0), sum(input), sum(output), sum(cached), sum(cache_written), \
             sum(reasoning), sum(cost), \
             sum(cost IS NULL AND (status = 0 OR coalesce(input, output) IS NOT NULL)), sum(duration_ms) \
             FROM model_requests WHERE true",
        );
        filter.push_to(&mut sql);
        sql.push(" GROUP BY 1, 2 ORDER BY 1, 2");
        let _alone = self.0.search_lock.lock().await;
        let rows = sql.build().fetch_all(self.0.readers()).await.map_err(StoreError::database(READING))?;
        let lines = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut lines = merge_unpriced(lines);
        if by == ModelUsageGrouping::Day {
            let surplus = lines.len().saturating_sub(MAX_ROWS);
            lines.drain(..surplus);
        } else {
            lines.sort_by(most_first);
            lines.truncate(MAX_ROWS);
        }
        Ok(lines)
    }
}

impl UsageFilter {
    /// Adds the conditions to a statement that already has a `WHERE`.
    pub(super) fn push_to(&self, sql: &mut QueryBuilder<Sqlite>) {
        if let Some(principal) = &self.principal {
            sql.push(" AND principal = ").push_bind(principal.clone());
        }
        self.push_times(sql);
    }

    /// Adds the conditions on time to a statement that already has a `WHERE`.
    pub(super) fn push_times(&self, sql: &mut QueryBuilder<Sqlite>) {
        if let Some(from) = self.from_ms {
            sql.push(" AND started_ms >= ").push_bind(from);
        }
        if let Some(to) = self.to_ms {
            sql.push(" AND started_ms < ").push_bind(to);
        }
    }
}

fn read(row: &SqliteRow) -> Result<ModelUsageRow, StoreError> {
    let columns = RowColumns(row);
    Ok(ModelUsageRow {
        key: columns.text(0)?,
        currency: columns.text(1)?,
        requests: columns.count(2)?,
        failed: columns.count(3)?,
        tokens: TokenCounts::read(&columns, 4)?,
        cost: columns.real_or_none(9)?,
        unpriced: columns.count(10)?,
        duration_ms: columns.count(11)?,
    })
}

/// Merges requests without a known cost, which have no currency, into another row of their key. They come
/// first.
fn merge_unpriced(lines: Vec<ModelUsageRow>) -> Vec<ModelUsageRow> {
    let mut done: Vec<ModelUsageRow> = Vec::with_capacity(lines.len());
    for line in lines {
        match done.last_mut() {
            Some(before) if before.key == line.key && before.currency.is_none() => add_usage(before, line),
            _ => done.push(line),
        }
    }
    done
}

fn add_usage(to: &mut ModelUsageRow, line: ModelUsageRow) {
    let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    to.requests += line.requests;
    to.failed += line.failed;
    to.unpriced += line.unpriced;
    to.duration_ms = to.duration_ms.saturating_add(line.duration_ms);
    to.cost = match (to.cost, line.cost) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    };
    to.currency = line.currency;
    let (one, other) = (to.tokens, line.tokens);
    to.tokens = TokenCounts {
        input: sum(one.input, other.input),
        output: sum(one.output, other.output),
        cached: sum(one.cached, other.cached),
        cache_written: sum(one.cache_written, other.cache_written),
        reasoning: sum(one.reasoning, other.reasoning),
    };
}

fn most_first(one: &ModelUsageRow, other: &ModelUsageRow) -> Ordering {
    let tokens =
        |line: &ModelUsageRow| line.tokens.input.unwrap_or(0).saturating_add(line.tokens.output.unwrap_or(0));
    let cost = |line: &ModelUsageRow| line.cost.unwrap_or(-1.0);
    cost(other)
        .total_cmp(&cost(one))
        .then_with(|| tokens(other).cmp(&tokens(one)))
        .then_with(|| one.key.cmp(&other.key))
}
