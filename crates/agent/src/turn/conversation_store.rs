//! The part of the store that a turn needs.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use toolway_store::{
    AppendedMessages, MessagePage, ModelRequestRecord, NewMessage, NewTurn, SessionRecord, StartedTurn,
    Store, StoreError, TitleBy, TurnEnding,
};
use toolway_types::{CallId, Outcome};

use crate::transcript::{self, TranscriptEntry};

/// Maximum number of messages that are read at a time.
const PAGE: usize = 1000;

/// Messages of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionHistory {
    /// Entries from the last summary on.
    pub(crate) entries: Vec<TranscriptEntry>,
    /// Outcomes of calls whose results were not stored.
    pub(crate) lost_outcomes: HashMap<CallId, Outcome>,
}

/// Store of the messages of turns.
#[async_trait]
pub(crate) trait ConversationStore: Send + Sync + 'static {
    /// Returns a session; `None` if it has no messages.
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// Returns the newest messages before a number, or of all, oldest first.
    async fn messages(&self, session: &str, before: Option<u64>) -> Result<MessagePage, StoreError>;

    /// Loads the messages of a session.
    async fn load(&self, session: &str) -> Result<SessionHistory, StoreError>;

    /// Starts a turn.
    async fn begin(&self, turn: NewTurn) -> Result<StartedTurn, StoreError>;

    /// Adds messages of a running turn, and the requests that produced them.
    async fn append(
        &self,
        turn: &str,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
        at_ms: i64,
    ) -> Result<AppendedMessages, StoreError>;

    /// Stores the draft of the answer that will become the message `next`. Never waits.
    fn draft(&self, turn: &Arc<str>, next: u64, text: String);

    /// Ends a running turn.
    async fn end(&self, ending: TurnEnding) -> Result<AppendedMessages, StoreError>;

    /// Stores requests that belong to no running turn.
    async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError>;

    /// Sets a generated title, unless a person has set one. Returns true if the session has this title now.
    async fn set_generated_title(&self, session: &str, title: &str) -> Result<bool, StoreError>;
}

#[async_trait]
impl ConversationStore for Store {
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.sessions().get(id).await
    }

    async fn messages(&self, session: &str, before: Option<u64>) -> Result<MessagePage, StoreError> {
        self.sessions().messages_before(session, before, PAGE).await
    }

    async fn load(&self, session: &str) -> Result<SessionHistory, StoreError> {
        let entries = transcript::load(&self.sessions(), session).await?;
        let lost = transcript::lost_outcomes(self, &entries).await?;
        Ok(SessionHistory { entries, lost_outcomes: lost })
    }

    async fn begin(&self, turn: NewTurn) -> Result<StartedTurn, StoreError> {
        self.sessions().begin(turn).await
    }

    async fn append(
        &self,
        turn: &str,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
        at_ms: i64,
    ) -> Result<AppendedMessages, StoreError> {
        self.sessions().append(turn, messages, requests, at_ms).await
    }

    fn draft(&self, turn: &Arc<str>, next: u64, text: String) {
        self.sessions().draft(turn, next, text);
    }

    async fn end(&self, ending: TurnEnding) -> Result<AppendedMessages, StoreError> {
        self.sessions().end(ending).await
    }

    async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError> {
        self.usage().record(requests).await
    }

    async fn set_generated_title(&self, session: &str, title: &str) -> Result<bool, StoreError> {
        self.sessions().rename(session, Some(title), TitleBy::Model).await
    }
}
