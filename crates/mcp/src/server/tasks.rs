//! Calls that outlast their request (2026-07-28 with the tasks extension, SEP-2663): a client that can is given a task's
//! id in the place of a result, asks how it stands, and answers what it is asked on the way.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{DetailedTask, InputRequests, InputResponses, JsonObject, Task, TaskPayload};
use tokio_util::sync::CancellationToken;
use toolway_core::consent::Question;
use toolway_types::Clock;

use super::answer;
use super::client::ToClient;
use super::consent;
use super::exchange::{Done, Exchange};
use super::parking::Pending;
use super::visitor::Visitor;
use crate::link::NoAnswer;
use crate::verbatim::Verbatim;

/// How long a call may take until it becomes a task. A call that asks its client something becomes one at once.
pub(crate) const AFTER: Duration = Duration::from_millis(500);
/// How long a task is kept once it has ended.
const KEPT: Duration = Duration::from_secs(600);
/// How often a client may ask.
const POLL_MS: u64 = 500;
/// Most tasks.
const MOST: usize = 1_024;
/// Most of one principal.
const MOST_OF_ONE: usize = 64;

/// The tasks.
pub(crate) struct Tasks {
    verbatim: Verbatim,
    clock: Arc<dyn Clock>,
    kept: Mutex<HashMap<String, Arc<Kept>>>,
}

/// One task.
struct Kept {
    verbatim: Verbatim,
    visitor: Visitor,
    cancel: CancellationToken,
    created: String,
    ttl_ms: u64,
    state: Mutex<State>,
}

/// How it stands.
struct State {
    updated: String,
    message: Option<String>,
    stage: Stage,
}

enum Stage {
    Working,
    Asking(InputRequests, Option<Waiting>),
    Ended(Result<JsonObject, JsonObject>),
    Cancelled,
}

/// What an answer goes to.
struct Waiting {
    pending: Pending,
    keys: Vec<String>,
    given: InputResponses,
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("kept", &self.kept.lock().len()).finish()
    }
}

impl Tasks {
    pub(crate) fn new(clock: Arc<dyn Clock>, verbatim: Verbatim) -> Arc<Self> {
        Arc::new(Self { verbatim, clock, kept: Mutex::default() })
    }

    fn now(&self) -> String {
        rfc3339(self.clock.now_ms())
    }

    /// Makes a task of a request that may run for this long yet; gives it back where there are too many.
    ///
    /// # Errors
    /// The request.
    pub(crate) fn begin(
        self: &Arc<Self>,
        exchange: Exchange,
        limit: Duration,
    ) -> Result<Task, Box<Exchange>> {
        let visitor = exchange.visitor.clone();
        let now = self.now();
        let kept = Arc::new(Kept {
            verbatim: self.verbatim.clone(),
            visitor: visitor.clone(),
            cancel: exchange.cancel.clone(),
            created: now.clone(),
            ttl_ms: u64::try_from((limit + KEPT).as_millis()).unwrap_or(u64::MAX),
            state: Mutex::new(State { updated: now, message: None, stage: Stage::Working }),
        });
        let id = uuid::Uuid::new_v4().to_string();
        {
            let mut all = self.kept.lock();
            let mine = all.values().filter(|task| task.is_of(&visitor)).count();
            if all.len() >= MOST || mine >= MOST_OF_ONE {
                return Err(Box::new(exchange));
            }
            all.insert(id.clone(), Arc::clone(&kept));
        }
        let (tasks, key) = (Arc::clone(self), id.clone());
        let task = kept.task(&id);
        tokio::spawn(async move {
            kept.run(exchange, &tasks).await;
            tokio::time::sleep(KEPT).await;
            let over = tasks.kept.lock().remove(&key);
            drop(over);
        });
        Ok(task)
    }

    fn find(&self, id: &str, visitor: &Visitor) -> Result<Arc<Kept>, ErrorData> {
        let found = self.kept.lock().get(id).filter(|task| task.is_of(visitor)).map(Arc::clone);
        found.ok_or_else(|| ErrorData::invalid_params(format!("there is no task {id:?}"), None))
    }

    /// How a task stands.
    pub(crate) fn get(&self, id: &str, visitor: &Visitor) -> Result<DetailedTask, ErrorData> {
        let kept = self.find(id, visitor)?;
        let state = kept.state.lock();
        let payload = match &state.stage {
            Stage::Working => TaskPayload::Working,
            Stage::Cancelled => TaskPayload::Cancelled,
            Stage::Asking(requests, _) => TaskPayload::InputRequired { input_requests: requests.clone() },
            Stage::Ended(Ok(result)) => TaskPayload::Completed { result: result.clone() },
            Stage::Ended(Err(error)) => TaskPayload::Failed { error: error.clone() },
        };
        Ok(DetailedTask::new(kept.task_in(id, &state), payload))
    }

    /// Takes answers to what a task asked. Answers to nothing that is asked are passed over.
    pub(crate) fn update(
        &self,
        id: &str,
        visitor: &Visitor,
        answers: InputResponses,
    ) -> Result<(), ErrorData> {
        let kept = self.find(id, visitor)?;
        let now = self.now();
        let answered = {
            let mut state = kept.state.lock();
            let Stage::Asking(requests, waiting) = &mut state.stage else { return Ok(()) };
            for (key, answer) in answers {
                if requests.remove(&key).is_some()
                    && let Some(waiting) = waiting
                {
                    waiting.given.insert(key, answer);
                }
            }
            let is_whole = waiting
                .as_ref()
                .is_some_and(|waiting| waiting.keys.iter().all(|key| waiting.given.contains_key(key)));
            let answered = if is_whole { waiting.take() } else { None };
            if answered.is_some() {
                state.stage = Stage::Working;
            }
            state.updated = now;
            answered
        };
        if let Some(Waiting { pending, given, .. }) = answered {
            pending.answered(&kept.visitor, Ok(given));
        }
        Ok(())
    }

    /// Cancels a task. What it ends in is seen later.
    pub(crate) fn cancel(&self, id: &str, visitor: &Visitor) -> Result<(), ErrorData> {
        self.find(id, visitor)?.cancel.cancel();
        Ok(())
    }
}

impl Kept {
    fn is_of(&self, visitor: &Visitor) -> bool {
        self.visitor.is_same_as(visitor)
    }

    fn task(&self, id: &str) -> Task {
        self.task_in(id, &self.state.lock())
    }

    fn task_in(&self, id: &str, state: &State) -> Task {
        let mut task =
            Task::new(id, rmcp::model::TaskStatus::Working, self.created.clone(), state.updated.clone())
                .with_ttl_ms(self.ttl_ms)
                .with_poll_interval_ms(POLL_MS);
        task.status_message.clone_from(&state.message);
        task
    }

    fn note(&self, tasks: &Tasks, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        state.updated = tasks.now();
        change(&mut state);
    }

    async fn run(&self, mut exchange: Exchange, tasks: &Tasks) {
        if let Some(said) = exchange.unsaid.take() {
            self.hear(said, &exchange, tasks);
        }
        let ended = loop {
            tokio::select! {
                biased;
                done = &mut exchange.work => break done,
                () = self.visitor.gone.cancelled(), if !self.cancel.is_cancelled() => self.cancel.cancel(),
                Some(said) = exchange.waiting.recv() => self.hear(said, &exchange, tasks),
            }
        };
        let was_cancelled = self.cancel.is_cancelled();
        self.note(tasks, |state| {
            state.stage = match ended {
                _ if was_cancelled => Stage::Cancelled,
                Ok(Done::Tool(result)) => Stage::Ended(Ok(object(&answer::carry(&result, &self.verbatim)))),
                Ok(_) => {
                    Stage::Ended(Err(object(&ErrorData::internal_error("another kind of answer", None))))
                }
                Err(error) => Stage::Ended(Err(object(&error))),
            }
        });
    }

    /// What the call says to its client.
    fn hear(&self, said: ToClient, exchange: &Exchange, tasks: &Tasks) {
        match said {
            ToClient::Progress(progress) => self.note(tasks, |state| {
                if let Some(message) = progress.message {
                    state.message = Some(message);
                }
            }),
            // There is no stream that it could go to.
            ToClient::Log(_) => {}
            ToClient::Ask(asked) => self.ask(tasks, asked.requests, Pending::Answers(asked.answers)),
            ToClient::Consent(question) => self.ask_for_consent(tasks, exchange, question),
        }
    }

    fn ask(&self, tasks: &Tasks, requests: InputRequests, pending: Pending) {
        let keys = requests.keys().cloned().collect();
        let waiting = Waiting { pending, keys, given: InputResponses::new() };
        let mut refused = None;
        self.note(tasks, |state| match &state.stage {
            // One question after the other: who asks meanwhile is not answered.
            Stage::Asking(..) => refused = Some(waiting),
            _ => state.stage = Stage::Asking(requests, Some(waiting)),
        });
        if let Some(Waiting { pending, .. }) = refused {
            pending.answered(&self.visitor, Err(NoAnswer::TooMany));
        }
    }

    fn ask_for_consent(&self, tasks: &Tasks, exchange: &Exchange, question: Arc<Question>) {
        if let Some(requests) = consent::form(&question) {
            self.ask(tasks, requests, Pending::Consent(exchange.consenting(question)));
        }
    }
}

fn object<T: serde::Serialize>(value: &T) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

/// A time as RFC 3339 writes it, in UTC with milliseconds.
fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}
