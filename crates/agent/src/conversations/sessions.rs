//! Lists, renames and removes sessions, and reports usage. An owner sees all sessions; to others, the
//! sessions of other principals do not exist.

use std::time::Duration;

use toolway_models::ModelUsage;
use toolway_store::{
    MessageRecord, ModelUsageGrouping as StoreUsageBy, ModelUsageRow as StoreUsageRow, SessionCursor,
    SessionRecord, SessionRecordFilter as StoreFilter, SessionRepository, TitleBy, TokenCounts, ToolUsageRow,
    TurnRecord, UsageFilter,
};
use toolway_types::{Principal, RawJson};

use super::view::{
    ExportFormat, MessageList, MessageView, SessionDetail, SessionList, SessionListOptions, SessionSummary,
    TurnSummary, UsageGrouping, UsageQuery, UsageReportRow,
};
use super::{Conversations, SessionError};
use crate::export;
use crate::transcript;
use crate::turn::stop_signal::StopReason;
use crate::turn::title::single_line;

/// Default number of sessions on a page.
const DEFAULT_PAGE_SIZE: usize = 50;
/// Maximum number of messages and turns that are returned with a session.
const MAX_SHOWN: usize = 1000;
/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 200;
/// Time that a turn has to end before its session is removed.
const ABORT_TIMEOUT: Duration = Duration::from_secs(5);

impl Conversations {
    /// Returns a page of the sessions that a principal may see, the most recently used first.
    ///
    /// # Errors
    /// [`SessionError`] if the store fails or the principal may not list them.
    pub async fn list(
        &self,
        who: &Principal,
        filter: &SessionListOptions,
    ) -> Result<SessionList, SessionError> {
        let whose = principal_filter(who, filter.principal.as_deref())?;
        let sessions = self.store.sessions();
        let sessions = whose.as_deref().map_or(sessions, |principal| sessions.for_principal(principal));
        let wanted = StoreFilter { agent: filter.agent.clone(), text: filter.text.clone() };
        let before = filter.before.as_deref().map(str::parse::<SessionCursor>).transpose()?;
        let page = sessions.list(&wanted, before.as_ref(), filter.limit.unwrap_or(DEFAULT_PAGE_SIZE)).await?;
        Ok(SessionList {
            sessions: page.sessions.into_iter().map(|record| self.summary(record)).collect(),
            next: page.next.map(|next| next.to_string()),
        })
    }

    /// Returns a session without its messages.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not see it.
    pub async fn get(&self, who: &Principal, id: &str) -> Result<SessionSummary, SessionError> {
        Ok(self.summary(self.record(who, id).await?))
    }

    /// Returns a session with its newest messages and turns.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not see it.
    pub async fn detail(&self, who: &Principal, id: &str) -> Result<SessionDetail, SessionError> {
        let summary = self.get(who, id).await?;
        let sessions = self.visible(who);
        let page = sessions.messages_before(id, None, MAX_SHOWN).await?;
        let turns = sessions.turns(id, MAX_SHOWN).await?;
        Ok(SessionDetail {
            summary,
            history: page.messages.into_iter().map(message_view).collect(),
            has_more: page.has_more,
            turns: turns.into_iter().map(turn_view).collect(),
        })
    }

    /// Returns the newest messages before a number, or of all: at most `limit` (1 to 1,000).
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not see them.
    pub async fn messages(
        &self,
        who: &Principal,
        id: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<MessageList, SessionError> {
        self.record(who, id).await?;
        let page = self.visible(who).messages_before(id, before, limit).await?;
        Ok(MessageList {
            messages: page.messages.into_iter().map(message_view).collect(),
            has_more: page.has_more,
        })
    }

    /// Sets a title, which a model's title never replaces. An empty title removes it.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not change the session.
    pub async fn rename(
        &self,
        who: &Principal,
        id: &str,
        title: &str,
    ) -> Result<SessionSummary, SessionError> {
        let title = single_line(title, MAX_TITLE);
        if !self.visible(who).rename(id, title.as_deref(), TitleBy::Person).await? {
            return Err(SessionError::Unknown(id.to_owned()));
        }
        self.get(who, id).await
    }

    /// Removes a session with its messages and, on request, its call records. Aborts a running turn first.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not remove it.
    pub async fn delete(&self, who: &Principal, id: &str, with_calls: bool) -> Result<(), SessionError> {
        self.record(who, id).await?;
        if let Some(turn) = self.running.in_session(id) {
            turn.stop.stop(StopReason::Aborted);
            // A turn that does not end in time can't store anything any more.
            let _ = tokio::time::timeout(ABORT_TIMEOUT, turn.finished.cancelled()).await;
        }
        match self.visible(who).remove(id, with_calls).await? {
            Some(_) => Ok(()),
            None => Err(SessionError::Unknown(id.to_owned())),
        }
    }

    /// Exports a whole session as text.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not see it.
    pub async fn export(
        &self,
        who: &Principal,
        id: &str,
        form: ExportFormat,
    ) -> Result<String, SessionError> {
        let record = self.record(who, id).await?;
        Ok(match form {
            ExportFormat::Markdown => export::markdown(&self.store, &record).await?,
            ExportFormat::Json => export::json(&self.store, &record).await?,
        })
    }

    /// Reports usage and costs. A principal that is not an owner sees its own.
    ///
    /// # Errors
    /// [`SessionError`] if the principal may not see it.
    pub async fn usage(
        &self,
        who: &Principal,
        by: UsageGrouping,
        query: &UsageQuery,
    ) -> Result<Vec<UsageReportRow>, SessionError> {
        let filter = UsageFilter {
            principal: principal_filter(who, query.principal.as_deref())?,
            from_ms: query.from_ms,
            to_ms: query.to_ms,
            zone_offset_s: query.zone_offset_s,
        };
        let usage = self.store.usage();
        let by = match by {
            UsageGrouping::Tool => {
                return Ok(usage.tools(&filter).await?.into_iter().map(tool_row).collect());
            }
            UsageGrouping::Day => StoreUsageBy::Day,
            UsageGrouping::Model => StoreUsageBy::Model,
            UsageGrouping::Agent => StoreUsageBy::Agent,
            UsageGrouping::Session => StoreUsageBy::Session,
            UsageGrouping::Principal => StoreUsageBy::Principal,
        };
        Ok(usage.report(by, &filter).await?.into_iter().map(usage_row).collect())
    }

    /// Returns the sessions that a principal may see.
    fn visible<'s>(&'s self, who: &'s Principal) -> SessionRepository<'s> {
        let sessions = self.store.sessions();
        if who.role.is_owner() { sessions } else { sessions.for_principal(&who.id.0) }
    }

    async fn record(&self, who: &Principal, id: &str) -> Result<SessionRecord, SessionError> {
        let record = self.visible(who).get(id).await?;
        record.ok_or_else(|| SessionError::Unknown(id.to_owned()))
    }

    fn summary(&self, record: SessionRecord) -> SessionSummary {
        SessionSummary {
            running: self.running.in_session(&record.id).is_some(),
            id: record.id,
            title: record.title,
            title_by: record.title_by,
            agent: record.agent,
            principal: record.principal,
            created_ms: record.created_ms,
            updated_ms: record.updated_ms,
            messages: record.messages,
        }
    }
}

/// Returns the principal to filter by. `None` means all.
fn principal_filter(who: &Principal, asked: Option<&str>) -> Result<Option<String>, SessionError> {
    match asked {
        Some(asked) if !who.role.is_owner() && *asked != *who.id.0 => Err(SessionError::OwnerRequired),
        Some(asked) => Ok(Some(asked.to_owned())),
        None if who.role.is_owner() => Ok(None),
        None => Ok(Some(who.id.to_string())),
    }
}

fn message_view(record: MessageRecord) -> MessageView {
    let parts = transcript::public_parts(&record.parts);
    MessageView {
        seq: record.seq,
        turn: record.turn,
        role: record.role,
        created_ms: record.created_ms,
        is_cut: record.is_cut,
        parts: RawJson::from_value(&parts).unwrap_or_default(),
    }
}

fn turn_view(record: TurnRecord) -> TurnSummary {
    TurnSummary {
        id: record.id,
        answers: record.answers,
        state: record.state,
        is_replaced: record.is_replaced,
        started_ms: record.started_ms,
        ended_ms: record.ended_ms,
        code: record.code,
        message: record.message,
        finish: record.finish,
        rounds: record.rounds,
        calls: record.calls,
        usage: usage_from_counts(record.tokens),
        cost: record.cost,
        currency: record.currency,
    }
}

fn usage_row(row: StoreUsageRow) -> UsageReportRow {
    UsageReportRow {
        key: row.key,
        requests: Some(row.requests),
        failed: Some(row.failed),
        usage: usage_from_counts(row.tokens),
        cost: row.cost,
        currency: row.currency,
        unpriced: Some(row.unpriced),
        calls: None,
        errors: None,
        duration_ms: row.duration_ms,
    }
}

fn tool_row(row: ToolUsageRow) -> UsageReportRow {
    UsageReportRow {
        key: Some(row.tool.to_string()),
        calls: Some(row.calls),
        errors: Some(row.errors),
        duration_ms: row.total_us / 1000,
        ..UsageReportRow::default()
    }
}

fn usage_from_counts(counts: TokenCounts) -> ModelUsage {
    let TokenCounts { input, output, cached, cache_written, reasoning } = counts;
    ModelUsage { input, output, cached, cache_written, reasoning }
}
