//! Who keeps what is said: the store, of which a turn needs no more than this.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use toolway_store::{
    Appended, Begun, MessagePage, ModelRequestRecord, NewMessage, NewTurn, SessionRecord, Store, StoreError,
    TitleBy, TurnEnding,
};
use toolway_types::{CallId, Outcome};

use crate::transcript::{self, Entry};

/// Most messages that are read at a time.
const PAGE: usize = 1000;

/// What was said in a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loaded {
    /// From the last summary on.
    pub(crate) entries: Vec<Entry>,
    /// How calls ended whose results were not kept.
    pub(crate) lost: HashMap<CallId, Outcome>,
}

/// Keeps what is said in turns.
#[async_trait]
pub(crate) trait Keeper: Send + Sync + 'static {
    /// One session; none where nothing was said in it.
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError>;

    /// The newest messages before a number, or of all, the oldest of them first.
    async fn messages(&self, session: &str, before: Option<u64>) -> Result<MessagePage, StoreError>;

    /// What was said in a session.
    async fn load(&self, session: &str) -> Result<Loaded, StoreError>;

    /// Begins a turn.
    async fn begin(&self, turn: NewTurn) -> Result<Begun, StoreError>;

    /// Adds what was said in a running turn, and the requests that it came from.
    async fn append(
        &self,
        turn: &str,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
        at_ms: i64,
    ) -> Result<Appended, StoreError>;

    /// Notes how far the answer is that will be the message `next`. Never waits.
    fn draft(&self, turn: &Arc<str>, next: u64, text: String);

    /// Ends a running turn.
    async fn end(&self, ending: TurnEnding) -> Result<Appended, StoreError>;

    /// Keeps requests that belong to no running turn.
    async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError>;

    /// Gives a session a title, unless a person has. Answers whether it has it now.
    async fn entitle(&self, session: &str, title: &str) -> Result<bool, StoreError>;
}

#[async_trait]
impl Keeper for Store {
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        self.sessions().get(id).await
    }

    async fn messages(&self, session: &str, before: Option<u64>) -> Result<MessagePage, StoreError> {
        self.sessions().messages_before(session, before, PAGE).await
    }

    async fn load(&self, session: &str) -> Result<Loaded, StoreError> {
        let entries = transcript::load(&self.sessions(), session).await?;
        let lost = transcript::lost_outcomes(self, &entries).await?;
        Ok(Loaded { entries, lost })
    }

    async fn begin(&self, turn: NewTurn) -> Result<Begun, StoreError> {
        self.sessions().begin(turn).await
    }

    async fn append(
        &self,
        turn: &str,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
        at_ms: i64,
    ) -> Result<Appended, StoreError> {
        self.sessions().append(turn, messages, requests, at_ms).await
    }

    fn draft(&self, turn: &Arc<str>, next: u64, text: String) {
        self.sessions().draft(turn, next, text);
    }

    async fn end(&self, ending: TurnEnding) -> Result<Appended, StoreError> {
        self.sessions().end(ending).await
    }

    async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError> {
        self.usage().record(requests).await
    }

    async fn entitle(&self, session: &str, title: &str) -> Result<bool, StoreError> {
        self.sessions().rename(session, Some(title), TitleBy::Model).await
    }
}
