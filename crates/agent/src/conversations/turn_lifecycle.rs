//! Starts a turn, runs it in its own task, and publishes its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use toolway_core::MemoryPermit;
use toolway_models::{MessagePart, MessageRole, ModelMessage, ModelUsage};
use toolway_store::{
    NewTurn, StoreError, StoredRole, TitleBy, TokenCounts, TurnEnding, TurnOpening, TurnState,
};
use toolway_types::Principal;
use uuid::Uuid;

use super::running_turns::TurnSlot;
use super::{Conversations, StartTurnError, validate_id};
use crate::agents::Agent;
use crate::event::{TurnEnd, TurnEvent, TurnFailure, TurnFailureCode, TurnStatus};
use crate::transcript::{self, TranscriptEntry};
use crate::turn::broadcast::TurnBroadcast;
use crate::turn::conversation_store::SessionHistory;
use crate::turn::request_attribution::RequestAttribution;
use crate::turn::stop_signal::StopReason;
use crate::turn::task::{CompletedTurn, HistoryTarget, RequestOverrides, TurnTask};
use crate::turn::title::TitleRequest;
use crate::turn::{ConnectionRegistration, StatelessRequest, TurnInput, TurnRequest, TurnViewer};

/// Time that the gateway waits for slow viewers when it stops.
const SHUTDOWN_SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// Memory for each byte of the messages of a running turn: the messages, the request to the model, and the copy that is
/// being sent. `toolway-load --memory-factors` measures it.
const MEMORY_FACTOR: usize = 4;
/// Memory of a running turn in addition to its messages, in bytes: its task, its connection to the model and its events.
const TURN_MEMORY: usize = 64 << 10;

impl Conversations {
    pub(super) async fn start_in_session(
        self: &Arc<Self>,
        turn: TurnRequest,
    ) -> Result<TurnViewer, StartTurnError> {
        let TurnRequest {
            session,
            title,
            principal,
            agent,
            input,
            registration: own,
            questions,
            debug,
            time_zone,
        } = turn;
        validate_id(&session)?;
        let message = match input {
            TurnInput::Message(parts) => Some(user_message(parts).ok_or(StartTurnError::EmptyContent)?),
            TurnInput::Regenerate => None,
        };
        let settings = self.deps.settings.load_full();
        let id: Arc<str> = Uuid::now_v7().to_string().into();
        let mut slot =
            self.running.acquire(Arc::clone(&id), Some(Arc::clone(&session)), &principal, settings.turns)?;
        let known = self.deps.store.session(&session).await?;
        if known.as_ref().is_some_and(|known| *known.principal != *principal.id.0) {
            return Err(StartTurnError::OwnerMismatch);
        }
        let agent = self.resolve_agent(&principal, known.as_ref(), agent.as_deref())?;
        // Without a model the turn fails before it starts, and a session would only contain the question.
        let is_stored = known.is_some()
            || message.is_none()
            || self.deps.models.get(agent.definition.model.as_deref()).is_ok();
        let opening = match &message {
            Some(message) => TurnOpening::Message(transcript::stored_message(message, false)),
            None => TurnOpening::Regenerate { answers: self.last_question(&session).await? },
        };
        let input = match &opening {
            TurnOpening::Message(message) => message.bytes(),
            TurnOpening::Regenerate { .. } => 0,
        };
        let history = known.as_ref().map_or(0, |known| usize::try_from(known.bytes).unwrap_or(usize::MAX));
        slot.memory = Some(self.reserve_memory(&principal, history.saturating_add(input))?);
        let mut has_title = false;
        let (target, is_new_session) = if is_stored {
            let turn = NewTurn {
                id: id.to_string(),
                session: session.to_string(),
                principal: principal.id.to_string(),
                agent: agent.definition.name.clone(),
                started_ms: self.deps.clock.now_ms(),
                opening,
            };
            let begun = self.deps.store.begin(turn).await?;
            has_title = title.is_some() && begun.is_new_session;
            if let Some(title) = title.filter(|_| begun.is_new_session)
                && let Err(error) = self.rename(&principal, &session, &title).await
            {
                tracing::warn!(%error, "the title of a new session could not be stored");
            }
            (HistoryTarget::Session { id: session, next: begun.next }, begun.is_new_session)
        } else {
            (HistoryTarget::Ephemeral, true)
        };
        // A new session has no other messages.
        let all_there_is: Vec<_> = message.filter(|_| is_new_session).into_iter().collect();
        let title_is_wanted =
            settings.titles && !has_title && known.is_none_or(|known| known.title_by == TitleBy::Nobody);
        let task = TurnTask {
            deps: Arc::clone(&self.deps),
            id,
            principal,
            agent,
            registration: own,
            questions,
            debug,
            time_zone,
            broadcast: Arc::clone(&slot.turn.broadcast),
            stop: Arc::clone(&slot.turn.stop),
            settings,
            target,
            overrides: RequestOverrides::default(),
            history: SessionHistory {
                entries: entries_from_messages(all_there_is),
                ..SessionHistory::default()
            },
        };
        let viewer = slot.turn.broadcast.subscribe(&slot.turn.id).ok_or(StartTurnError::ShuttingDown)?;
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            match task.target {
                HistoryTarget::Session { .. } => this.run_in_session(task, slot, title_is_wanted).await,
                HistoryTarget::Ephemeral => this.run_stateless(task, slot).await,
            }
        });
        Ok(viewer)
    }

    /// Reserves memory for a turn whose messages have this size.
    fn reserve_memory(&self, principal: &Principal, bytes: usize) -> Result<MemoryPermit, StartTurnError> {
        let memory = bytes.saturating_mul(MEMORY_FACTOR).saturating_add(TURN_MEMORY);
        self.deps.memory.reserve(principal, memory).ok_or(StartTurnError::NoMemory)
    }

    pub(super) fn start_stateless(
        self: &Arc<Self>,
        request: StatelessRequest,
    ) -> Result<TurnViewer, StartTurnError> {
        let StatelessRequest {
            agent,
            principal,
            system,
            messages,
            client_tools,
            tool_choice,
            output,
            options,
            time_zone,
        } = request;
        if messages.is_empty() {
            return Err(StartTurnError::NoUserMessage);
        }
        let settings = self.deps.settings.load_full();
        let agent = self.resolve_agent(&principal, None, Some(&agent))?;
        let id: Arc<str> = Uuid::now_v7().to_string().into();
        let mut slot = self.running.acquire(Arc::clone(&id), None, &principal, settings.turns)?;
        let bytes = messages.iter().map(|message| transcript::stored_message(message, false).bytes()).sum();
        slot.memory = Some(self.reserve_memory(&principal, bytes)?);
        let messages = self.suspended.restore(&principal.id, messages);
        let task = TurnTask {
            deps: Arc::clone(&self.deps),
            id,
            principal,
            agent,
            registration: ConnectionRegistration::default(),
            questions: None,
            debug: false,
            time_zone,
            broadcast: Arc::clone(&slot.turn.broadcast),
            stop: Arc::clone(&slot.turn.stop),
            settings,
            target: HistoryTarget::Ephemeral,
            overrides: RequestOverrides {
                system,
                tools: client_tools.into_iter().map(Arc::new).collect(),
                tool_choice,
                output,
                options,
            },
            history: SessionHistory { entries: entries_from_messages(messages), ..SessionHistory::default() },
        };
        let viewer = slot.turn.broadcast.subscribe(&slot.turn.id).ok_or(StartTurnError::ShuttingDown)?;
        let this = Arc::clone(self);
        self.tasks.spawn(async move { this.run_stateless(task, slot).await });
        Ok(viewer)
    }

    /// Returns the number of the person's last message.
    async fn last_question(&self, session: &str) -> Result<u64, StartTurnError> {
        let mut before = None;
        loop {
            let page = self.deps.store.messages(session, before).await?;
            let found = page.messages.iter().rev().find(|message| message.role == StoredRole::User);
            if let Some(found) = found {
                return Ok(found.seq);
            }
            match page.messages.first() {
                Some(first) if page.has_more => before = Some(first.seq),
                _ => return Err(StartTurnError::NoUserMessage),
            }
        }
    }

    async fn run_in_session(self: Arc<Self>, mut task: TurnTask, slot: TurnSlot, title_is_wanted: bool) {
        let HistoryTarget::Session { id: session, .. } = task.target.clone() else { return };
        let (turn, principal, agent) =
            (Arc::clone(&task.id), Arc::clone(&task.principal), Arc::clone(&task.agent));
        let loaded = match std::mem::take(&mut task.history) {
            nothing if nothing.entries.is_empty() => self.deps.store.load(&session).await,
            all_there_is => Ok(all_there_is),
        };
        let (end, question) = match loaded {
            Err(error) => (self.end_after_load_error(&turn, &error).await, None),
            Ok(said) => {
                task.history = said;
                let question = title_is_wanted.then(|| first_question(&task.history.entries)).flatten();
                match AssertUnwindSafe(task.run()).catch_unwind().await {
                    Ok(finished) => (finished.end, question),
                    Err(_) => (self.end_after_crash(&turn, &slot).await, None),
                }
            }
        };
        let answer = (end.status == TurnStatus::Done).then(|| end.full_response.clone());
        let audience = Arc::clone(&slot.turn.broadcast);
        // Freed before the end is published: a viewer that sends the next message at once must not find the
        // session busy.
        drop(slot);
        self.publish_end(&audience, end).await;
        if let Some((question, answer)) = question.zip(answer) {
            let whose = RequestAttribution {
                principal,
                agent: agent.definition.name.as_str().into(),
                session: Some(session),
                turn: None,
            };
            if let Some(title) = self.generate_title(&whose, &agent, &question, &answer).await {
                audience.publish_and_wait(TurnEvent::TitleGenerated(title)).await;
            }
        }
    }

    async fn run_stateless(self: Arc<Self>, task: TurnTask, slot: TurnSlot) {
        let (audience, stop) = (Arc::clone(&slot.turn.broadcast), Arc::clone(&slot.turn.stop));
        let principal = Arc::clone(&task.principal);
        let deserted = async {
            audience.wait_until_unwatched().await;
            stop.stop(StopReason::Aborted);
            std::future::pending::<()>().await;
        };
        let ran = tokio::select! {
            ran = AssertUnwindSafe(task.run()).catch_unwind() => ran.ok(),
            () = deserted => None,
        };
        let end = match ran {
            Some(CompletedTurn { end, messages: said }) => {
                self.suspended.suspend(&principal.id, said, &end.client_calls);
                end
            }
            None => failed_end(&slot, internal_failure("the turn crashed")),
        };
        drop(slot);
        self.publish_end(&audience, end).await;
    }

    /// Publishes the end of a turn. A gateway that stops does not wait long for slow viewers.
    async fn publish_end(&self, audience: &TurnBroadcast, end: TurnEnd) {
        if !audience.publish(TurnEvent::Ended(end)) {
            return;
        }
        tokio::select! {
            () = audience.wait_for_viewers() => {}
            () = async {
                self.closing.token().cancelled().await;
                tokio::time::sleep(SHUTDOWN_SEND_TIMEOUT).await;
            } => {}
        }
    }

    /// Generates a title for a session, unless it has got one in the meantime. Returns the title if it was
    /// stored.
    async fn generate_title(
        &self,
        whose: &RequestAttribution,
        agent: &Agent,
        question: &str,
        answer: &str,
    ) -> Option<String> {
        let session = whose.session.as_deref()?;
        let model = self.deps.models.get(agent.definition.model.as_deref()).ok()?;
        let titling = TitleRequest {
            deps: &self.deps,
            attribution: whose,
            model: &model,
            stop: &self.closing,
            question,
            answer,
        };
        let title = titling.generate().await?;
        match self.deps.store.set_generated_title(session, &title).await {
            Ok(has_it) => has_it.then_some(title),
            Err(error) => {
                tracing::warn!(session, "the title was not stored: {error}");
                None
            }
        }
    }

    async fn end_after_load_error(&self, turn: &Arc<str>, error: &StoreError) -> TurnEnd {
        let failure = internal_failure(format!("the messages of this session can't be read: {error}"));
        self.record_failed_end(turn, &failure).await;
        TurnEnd { status: TurnStatus::Failed(failure), ..empty_turn_end() }
    }

    async fn end_after_crash(&self, turn: &Arc<str>, slot: &TurnSlot) -> TurnEnd {
        tracing::error!(turn = &**turn, "a turn crashed");
        let failure = internal_failure("the turn crashed; the log has details");
        self.record_failed_end(turn, &failure).await;
        failed_end(slot, failure)
    }

    /// Records the end of a turn that could not end by itself.
    async fn record_failed_end(&self, turn: &Arc<str>, failure: &TurnFailure) {
        let ending = TurnEnding {
            turn: turn.to_string(),
            state: TurnState::Failed,
            ended_ms: self.deps.clock.now_ms(),
            messages: Vec::new(),
            requests: Vec::new(),
            code: Some(failure.code.as_str().to_owned()),
            message: Some(failure.message.clone()),
            finish: None,
            rounds: 0,
            calls: 0,
            tokens: TokenCounts::default(),
            cost: None,
            currency: None,
        };
        if let Err(error) = self.deps.store.end(ending).await {
            tracing::error!(turn = &**turn, "the end of a turn was not stored: {error}");
        }
    }
}

/// Creates a person's message from text and images. `None` if there are neither.
fn user_message(parts: Vec<MessagePart>) -> Option<ModelMessage> {
    let mut parts = parts;
    parts.retain(|part| matches!(part, MessagePart::Text { .. } | MessagePart::Image { .. }));
    let says_something = |part: &MessagePart| match part {
        MessagePart::Text { text, .. } => !text.trim().is_empty(),
        _ => true,
    };
    parts.iter().any(says_something).then_some(ModelMessage { role: MessageRole::User, parts })
}

/// Returns the person's message if the model has not answered in the session before.
fn first_question(entries: &[TranscriptEntry]) -> Option<String> {
    let is_answer = |entry: &TranscriptEntry| {
        entry.summary_through.is_some()
            || (entry.message.role == MessageRole::Assistant && !entry.message.text().trim().is_empty())
    };
    if entries.iter().any(is_answer) {
        return None;
    }
    let question = entries.iter().rev().find(|entry| entry.message.role == MessageRole::User)?;
    Some(question.message.text())
}

/// Converts messages that are not stored to entries.
fn entries_from_messages(messages: Vec<ModelMessage>) -> Vec<TranscriptEntry> {
    let entry = |(seq, message)| TranscriptEntry {
        seq,
        turn: String::new(),
        message,
        is_cut: false,
        created_ms: 0,
        summary_through: None,
        summarized_tools: Vec::new(),
    };
    (1..).zip(messages).map(entry).collect()
}

fn internal_failure(message: impl Into<String>) -> TurnFailure {
    TurnFailure { code: TurnFailureCode::Internal, message: message.into(), hint: None }
}

fn failed_end(slot: &TurnSlot, failure: TurnFailure) -> TurnEnd {
    let full_response = slot.turn.broadcast.text_from(0);
    TurnEnd { status: TurnStatus::Failed(failure), full_response, ..empty_turn_end() }
}

fn empty_turn_end() -> TurnEnd {
    TurnEnd {
        status: TurnStatus::Done,
        full_response: String::new(),
        usage: ModelUsage::default(),
        cost: None,
        currency: None,
        rounds: 0,
        tool_calls: 0,
        finish: None,
        client_calls: Vec::new(),
    }
}
