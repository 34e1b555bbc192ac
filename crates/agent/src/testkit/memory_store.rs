//! A conversation store in memory, for tests. It follows the rules of the store on disk, but has no pages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use toolway_models::ModelMessage;
use toolway_store::{
    AppendedMessages, MessagePage, MessageRecord, ModelRequestRecord, NewMessage, NewTurn, SessionRecord,
    StartedTurn, StoreError, StoredRole, TitleBy, TurnEnding, TurnOpening, TurnState,
};

use crate::transcript;
use crate::turn::conversation_store::{ConversationStore, SessionHistory};

/// A conversation store in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryConversationStore {
    state: Mutex<MemoryStoreState>,
    /// If true, writing turns, messages and requests fails.
    pub(crate) is_full: AtomicBool,
}

#[derive(Debug, Default)]
struct MemoryStoreState {
    sessions: BTreeMap<String, SessionRecord>,
    messages: BTreeMap<String, Vec<MessageRecord>>,
    turns: BTreeMap<String, (String, TurnState)>,
    endings: Vec<TurnEnding>,
    requests: Vec<ModelRequestRecord>,
    drafts: Vec<(u64, String)>,
}

impl MemoryConversationStore {
    /// Returns the messages of a session.
    pub(crate) fn messages_of(&self, session: &str) -> Vec<ModelMessage> {
        self.records(session).iter().map(|record| transcript::entry_from_record(record).message).collect()
    }

    pub(crate) fn records(&self, session: &str) -> Vec<MessageRecord> {
        self.state.lock().messages.get(session).cloned().unwrap_or_default()
    }

    pub(crate) fn endings(&self) -> Vec<TurnEnding> {
        self.state.lock().endings.clone()
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequestRecord> {
        self.state.lock().requests.clone()
    }

    pub(crate) fn drafts(&self) -> Vec<(u64, String)> {
        self.state.lock().drafts.clone()
    }

    pub(crate) fn title(&self, session: &str) -> Option<String> {
        self.state.lock().sessions.get(session)?.title.clone()
    }

    pub(crate) fn rename(&self, session: &str, title: &str) {
        if let Some(record) = self.state.lock().sessions.get_mut(session) {
            record.title = Some(title.to_owned());
            record.title_by = TitleBy::Person;
        }
    }

    /// Returns the number of running turns.
    pub(crate) fn running_turns(&self) -> usize {
        self.state.lock().turns.values().filter(|(_, state)| *state == TurnState::Running).count()
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        match self.is_full.load(Ordering::SeqCst) {
            true => Err(StoreError::Closed),
            false => Ok(()),
        }
    }
}

impl MemoryStoreState {
    fn append(
        &mut self,
        turn: &str,
        messages: Vec<NewMessage>,
        at_ms: i64,
    ) -> Result<AppendedMessages, StoreError> {
        let running = self.turns.get(turn).filter(|(_, state)| *state == TurnState::Running);
        let Some((session, _)) = running.cloned() else {
            return Err(StoreError::Missing { what: "running turn", id: turn.to_owned() });
        };
        let list = self.messages.entry(session.clone()).or_default();
        let first = list.len() as u64 + 1;
        for message in messages {
            list.push(MessageRecord {
                seq: list.len() as u64 + 1,
                turn: turn.to_owned(),
                role: message.role,
                parts: message.parts,
                is_cut: message.is_cut,
                created_ms: at_ms,
            });
        }
        let next = list.len() as u64 + 1;
        if let Some(record) = self.sessions.get_mut(&session) {
            record.messages = next - 1;
        }
        Ok(AppendedMessages { first, next })
    }
}

#[async_trait]
impl ConversationStore for MemoryConversationStore {
    async fn session(&self, id: &str) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self.state.lock().sessions.get(id).cloned())
    }

    async fn messages(&self, session: &str, before: Option<u64>) -> Result<MessagePage, StoreError> {
        let mut messages = self.records(session);
        messages.retain(|message| before.is_none_or(|before| message.seq < before));
        Ok(MessagePage { messages, has_more: false })
    }

    async fn load(&self, session: &str) -> Result<SessionHistory, StoreError> {
        let entries = self.records(session).iter().map(transcript::entry_from_record).collect();
        Ok(SessionHistory { entries, ..SessionHistory::default() })
    }

    async fn begin(&self, turn: NewTurn) -> Result<StartedTurn, StoreError> {
        self.check_writable()?;
        let mut state = self.state.lock();
        let is_new_session = !state.sessions.contains_key(&turn.session);
        if is_new_session && matches!(turn.opening, TurnOpening::Regenerate { .. }) {
            return Err(StoreError::Missing { what: "conversation", id: turn.session });
        }
        let record = state.sessions.entry(turn.session.clone()).or_insert_with(|| SessionRecord {
            id: turn.session.clone(),
            principal: turn.principal.clone(),
            agent: turn.agent.clone(),
            title: None,
            title_by: TitleBy::Nobody,
            created_ms: turn.started_ms,
            updated_ms: turn.started_ms,
            messages: 0,
            bytes: 0,
        });
        if record.principal != turn.principal {
            return Err(StoreError::SessionTaken { id: turn.session });
        }
        record.agent = turn.agent;
        state.turns.insert(turn.id.clone(), (turn.session.clone(), TurnState::Running));
        let answers = match turn.opening {
            TurnOpening::Message(message) => state.append(&turn.id, vec![message], turn.started_ms)?.first,
            TurnOpening::Regenerate { answers } => {
                let list = state.messages.entry(turn.session.clone()).or_default();
                list.truncate(usize::try_from(answers).unwrap());
                assert_eq!(list.last().map(|last| last.role), Some(StoredRole::User));
                answers
            }
        };
        Ok(StartedTurn { answers, next: answers + 1, is_new_session })
    }

    async fn append(
        &self,
        turn: &str,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
        at_ms: i64,
    ) -> Result<AppendedMessages, StoreError> {
        self.check_writable()?;
        let mut state = self.state.lock();
        state.requests.extend(requests);
        state.append(turn, messages, at_ms)
    }

    fn draft(&self, _: &Arc<str>, next: u64, text: String) {
        self.state.lock().drafts.push((next, text));
    }

    async fn end(&self, ending: TurnEnding) -> Result<AppendedMessages, StoreError> {
        self.check_writable()?;
        let mut state = self.state.lock();
        state.requests.extend(ending.requests.clone());
        let appended = state.append(&ending.turn, ending.messages.clone(), ending.ended_ms)?;
        if let Some((_, turn_state)) = state.turns.get_mut(&ending.turn) {
            *turn_state = ending.state;
        }
        state.endings.push(ending);
        Ok(appended)
    }

    async fn record(&self, requests: Vec<ModelRequestRecord>) -> Result<(), StoreError> {
        self.check_writable()?;
        self.state.lock().requests.extend(requests);
        Ok(())
    }

    async fn set_generated_title(&self, session: &str, title: &str) -> Result<bool, StoreError> {
        let mut state = self.state.lock();
        let Some(record) = state.sessions.get_mut(session) else { return Ok(false) };
        if record.title_by == TitleBy::Person {
            return Ok(false);
        }
        record.title = Some(title.to_owned());
        record.title_by = TitleBy::Model;
        Ok(true)
    }
}
