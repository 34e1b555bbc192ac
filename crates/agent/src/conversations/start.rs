//! How a turn begins, runs in a task of its own, and is over for everybody.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use toolway_models::{Message, MessageRole, Part, Usage};
use toolway_store::{
    NewTurn, StoreError, StoredRole, TitleBy, TokenCounts, TurnEnding, TurnOpening, TurnState,
};
use uuid::Uuid;

use super::running::Seat;
use super::{Conversations, TurnRefused, checked_id};
use crate::agents::Agent;
use crate::event::{TurnEnd, TurnEvent, TurnFailure, TurnFailureCode, TurnStatus};
use crate::transcript::{self, Entry};
use crate::turn::account::Whose;
use crate::turn::audience::Audience;
use crate::turn::keeper::Loaded;
use crate::turn::stop::StopReason;
use crate::turn::task::{Finished, Place, Task, Wishes};
use crate::turn::title::Titling;
use crate::turn::{OwnRegistration, StatelessRequest, TurnInput, TurnRequest, TurnViewer};

/// How long those who do not read are waited for when the gateway stops.
const LAST_WORD: Duration = Duration::from_secs(1);

impl Conversations {
    pub(super) async fn start_in_session(
        self: &Arc<Self>,
        turn: TurnRequest,
    ) -> Result<TurnViewer, TurnRefused> {
        let TurnRequest { session, principal, agent, input, own, questions, debug } = turn;
        checked_id(&session)?;
        let message = match input {
            TurnInput::Message(parts) => Some(persons_message(parts).ok_or(TurnRefused::Empty)?),
            TurnInput::Regenerate => None,
        };
        let settings = self.around.settings.load_full();
        let id: Arc<str> = Uuid::now_v7().to_string().into();
        let seat = self.running.take(
            Arc::clone(&id),
            Some(Arc::clone(&session)),
            principal.id.clone(),
            settings.turns,
        )?;
        let known = self.around.keeper.session(&session).await?;
        if known.as_ref().is_some_and(|known| *known.principal != *principal.id.0) {
            return Err(TurnRefused::OwnerMismatch);
        }
        let agent = self.agent_of(&principal, known.as_ref(), agent.as_deref())?;
        let opening = match &message {
            Some(message) => TurnOpening::Message(transcript::stored(message, false)),
            None => TurnOpening::Again { answers: self.last_question(&session).await? },
        };
        let begun = self
            .around
            .keeper
            .begin(NewTurn {
                id: id.to_string(),
                session: session.to_string(),
                principal: principal.id.to_string(),
                agent: agent.definition.name.clone(),
                started_ms: self.around.clock.now_ms(),
                opening,
            })
            .await?;
        // Of a new session nothing else could be read.
        let all_there_is: Vec<_> = message.filter(|_| begun.is_new_session).into_iter().collect();
        let title_is_wanted = settings.titles && known.is_none_or(|known| known.title_by == TitleBy::Nobody);
        let task = Task {
            around: Arc::clone(&self.around),
            id,
            principal,
            agent,
            own,
            questions,
            debug,
            audience: Arc::clone(&seat.turn.audience),
            stop: Arc::clone(&seat.turn.stop),
            settings,
            place: Place::Session { id: session, next: begun.next },
            wishes: Wishes::default(),
            said: Loaded { entries: entries_of(all_there_is), ..Loaded::default() },
        };
        let viewer = seat.turn.audience.join(&seat.turn.id).ok_or(TurnRefused::ShuttingDown)?;
        let this = Arc::clone(self);
        self.tasks.spawn(async move { this.run_in_session(task, seat, title_is_wanted).await });
        Ok(viewer)
    }

    pub(super) fn start_stateless(
        self: &Arc<Self>,
        request: StatelessRequest,
    ) -> Result<TurnViewer, TurnRefused> {
        let StatelessRequest {
            agent,
            principal,
            system,
            messages,
            client_tools,
            tool_choice,
            output,
            options,
        } = request;
        if messages.is_empty() {
            return Err(TurnRefused::NoUserMessage);
        }
        let settings = self.around.settings.load_full();
        let agent = self.agent_of(&principal, None, Some(&agent))?;
        let id: Arc<str> = Uuid::now_v7().to_string().into();
        let seat = self.running.take(Arc::clone(&id), None, principal.id.clone(), settings.turns)?;
        let messages = self.parked.restore(&principal.id, messages);
        let task = Task {
            around: Arc::clone(&self.around),
            id,
            principal,
            agent,
            own: OwnRegistration::default(),
            questions: None,
            debug: false,
            audience: Arc::clone(&seat.turn.audience),
            stop: Arc::clone(&seat.turn.stop),
            settings,
            place: Place::Nowhere,
            wishes: Wishes {
                system,
                tools: client_tools.into_iter().map(Arc::new).collect(),
                tool_choice,
                output,
                options,
            },
            said: Loaded { entries: entries_of(messages), ..Loaded::default() },
        };
        let viewer = seat.turn.audience.join(&seat.turn.id).ok_or(TurnRefused::ShuttingDown)?;
        let this = Arc::clone(self);
        self.tasks.spawn(async move { this.run_stateless(task, seat).await });
        Ok(viewer)
    }

    /// The number of the person's last message.
    async fn last_question(&self, session: &str) -> Result<u64, TurnRefused> {
        let mut before = None;
        loop {
            let page = self.around.keeper.messages(session, before).await?;
            let found = page.messages.iter().rev().find(|message| message.role == StoredRole::User);
            if let Some(found) = found {
                return Ok(found.seq);
            }
            match page.messages.first() {
                Some(first) if page.has_more => before = Some(first.seq),
                _ => return Err(TurnRefused::NoUserMessage),
            }
        }
    }

    async fn run_in_session(self: Arc<Self>, mut task: Task, seat: Seat, title_is_wanted: bool) {
        let Place::Session { id: session, .. } = task.place.clone() else { return };
        let (turn, principal, agent) =
            (Arc::clone(&task.id), Arc::clone(&task.principal), Arc::clone(&task.agent));
        let loaded = match std::mem::take(&mut task.said) {
            nothing if nothing.entries.is_empty() => self.around.keeper.load(&session).await,
            all_there_is => Ok(all_there_is),
        };
        let (end, question) = match loaded {
            Err(error) => (self.could_not_load(&turn, &error).await, None),
            Ok(said) => {
                task.said = said;
                let question = title_is_wanted.then(|| first_question(&task.said.entries)).flatten();
                match AssertUnwindSafe(task.run()).catch_unwind().await {
                    Ok(finished) => (finished.end, question),
                    Err(_) => (self.crashed(&turn, &seat).await, None),
                }
            }
        };
        let answer = (end.status == TurnStatus::Done).then(|| end.full_response.clone());
        let audience = Arc::clone(&seat.turn.audience);
        // Free before anybody is told: who answers at once must not find it busy.
        drop(seat);
        self.tell_end(&audience, end).await;
        if let Some((question, answer)) = question.zip(answer) {
            let whose = Whose {
                principal,
                agent: agent.definition.name.as_str().into(),
                session: Some(session),
                turn: None,
            };
            if let Some(title) = self.entitle(&whose, &agent, &question, &answer).await {
                audience.tell(TurnEvent::Titled(title)).await;
            }
        }
    }

    async fn run_stateless(self: Arc<Self>, task: Task, seat: Seat) {
        let (audience, stop) = (Arc::clone(&seat.turn.audience), Arc::clone(&seat.turn.stop));
        let principal = Arc::clone(&task.principal);
        let deserted = async {
            audience.deserted().await;
            stop.stop(StopReason::Aborted);
            std::future::pending::<()>().await;
        };
        let ran = tokio::select! {
            ran = AssertUnwindSafe(task.run()).catch_unwind() => ran.ok(),
            () = deserted => None,
        };
        let end = match ran {
            Some(Finished { end, said }) => {
                self.parked.park(&principal.id, said, &end.client_calls);
                end
            }
            None => failed_end(&seat, internal("the turn crashed")),
        };
        drop(seat);
        self.tell_end(&audience, end).await;
    }

    /// Tells everybody that a turn is over. A gateway that stops does not wait long for those who do not read.
    async fn tell_end(&self, audience: &Audience, end: TurnEnd) {
        if !audience.offer(TurnEvent::Ended(end)) {
            return;
        }
        tokio::select! {
            () = audience.caught_up() => {}
            () = async {
                self.closing.token().cancelled().await;
                tokio::time::sleep(LAST_WORD).await;
            } => {}
        }
    }

    /// Gives a session its title, unless it has got one meanwhile. Answers the title where the session has it.
    async fn entitle(&self, whose: &Whose, agent: &Agent, question: &str, answer: &str) -> Option<String> {
        let session = whose.session.as_deref()?;
        let model = self.around.models.get(agent.definition.model.as_deref()).ok()?;
        let titling =
            Titling { around: &self.around, whose, model: &model, stop: &self.closing, question, answer };
        let title = titling.make().await?;
        match self.around.keeper.entitle(session, &title).await {
            Ok(has_it) => has_it.then_some(title),
            Err(error) => {
                tracing::warn!(session, "the title was not kept: {error}");
                None
            }
        }
    }

    async fn could_not_load(&self, turn: &Arc<str>, error: &StoreError) -> TurnEnd {
        let failure = internal(format!("what was said in this session can't be read: {error}"));
        self.end_badly(turn, &failure).await;
        TurnEnd { status: TurnStatus::Failed(failure), ..nothing() }
    }

    async fn crashed(&self, turn: &Arc<str>, seat: &Seat) -> TurnEnd {
        tracing::error!(turn = &**turn, "a turn crashed");
        let failure = internal("the turn crashed; the log says more");
        self.end_badly(turn, &failure).await;
        failed_end(seat, failure)
    }

    /// Ends a turn that could not end by itself.
    async fn end_badly(&self, turn: &Arc<str>, failure: &TurnFailure) {
        let ending = TurnEnding {
            turn: turn.to_string(),
            state: TurnState::Failed,
            ended_ms: self.around.clock.now_ms(),
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
        if let Err(error) = self.around.keeper.end(ending).await {
            tracing::error!(turn = &**turn, "the end of a turn was not kept: {error}");
        }
    }
}

/// What a person can say: text and pictures. None where there is nothing of that.
fn persons_message(parts: Vec<Part>) -> Option<Message> {
    let mut parts = parts;
    parts.retain(|part| matches!(part, Part::Text { .. } | Part::Image { .. }));
    let says_something = |part: &Part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        _ => true,
    };
    parts.iter().any(says_something).then_some(Message { role: MessageRole::User, parts })
}

/// The person's message, where the model has said nothing in the session before.
fn first_question(entries: &[Entry]) -> Option<String> {
    let is_answer = |entry: &Entry| {
        entry.summary_through.is_some()
            || (entry.message.role == MessageRole::Assistant && !entry.message.text().trim().is_empty())
    };
    if entries.iter().any(is_answer) {
        return None;
    }
    let question = entries.iter().rev().find(|entry| entry.message.role == MessageRole::User)?;
    Some(question.message.text())
}

/// Messages that are kept nowhere, as if they were.
fn entries_of(messages: Vec<Message>) -> Vec<Entry> {
    let entry = |(seq, message)| Entry {
        seq,
        turn: String::new(),
        message,
        is_cut: false,
        created_ms: 0,
        summary_through: None,
    };
    (1..).zip(messages).map(entry).collect()
}

fn internal(message: impl Into<String>) -> TurnFailure {
    TurnFailure { code: TurnFailureCode::Internal, message: message.into(), hint: None }
}

fn failed_end(seat: &Seat, failure: TurnFailure) -> TurnEnd {
    let full_response = seat.turn.audience.text_from(0);
    TurnEnd { status: TurnStatus::Failed(failure), full_response, ..nothing() }
}

fn nothing() -> TurnEnd {
    TurnEnd {
        status: TurnStatus::Done,
        full_response: String::new(),
        usage: Usage::default(),
        cost: None,
        currency: None,
        rounds: 0,
        tool_calls: 0,
        finish: None,
        client_calls: Vec::new(),
    }
}
