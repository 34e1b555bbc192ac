//! Tasks: calls that outlast their request (2026-07-28 with the tasks extension, SEP-2663). A client with that
//! extension gets a task id instead of a result, polls the task, and answers its questions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{InputRequests, InputResponses, ResultType, Task, TaskStatus};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolway_core::consent::Question;
use toolway_types::Clock;

use super::client::ClientMessage;
use super::client_scope::ClientScope;
use super::consent;
use super::exchange::ClientExchange;
use super::outgoing;
use super::pending_requests::PendingAnswer;
use crate::client_link::InputRequestError;

/// Time after which a call becomes a task. A call that asks its client something becomes one at once.
pub(crate) const TASK_AFTER: Duration = Duration::from_millis(500);
/// Retention of an ended task.
const RETENTION: Duration = Duration::from_secs(600);
/// The recommended poll interval for clients.
const POLL_INTERVAL_MS: u64 = 500;
/// Maximum number of tasks.
const MAX_TASKS: usize = 1_024;
/// Maximum number of tasks of one principal.
const MAX_TASKS_PER_PRINCIPAL: usize = 64;

/// The tasks.
pub(crate) struct TaskRegistry {
    clock: Arc<dyn Clock>,
    tasks: Mutex<HashMap<String, Arc<StoredTask>>>,
}

/// One task.
struct StoredTask {
    scope: ClientScope,
    cancel: CancellationToken,
    created_at: String,
    ttl_ms: u64,
    state: Mutex<StoredTaskState>,
}

/// The state of a task.
struct StoredTaskState {
    updated_at: String,
    message: Option<String>,
    stage: TaskStage,
}

enum TaskStage {
    Working,
    InputRequired(InputRequests, Option<PendingTaskInput>),
    Completed(Box<RawValue>),
    Failed(ErrorData),
    Cancelled,
}

/// A result of `tasks/get`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskView<'a> {
    result_type: ResultType,
    #[serde(flatten)]
    task: Task,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<&'a InputRequests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorData>,
}

/// The receiver of an answer.
struct PendingTaskInput {
    pending: PendingAnswer,
    keys: Vec<String>,
    received: InputResponses,
}

impl std::fmt::Debug for TaskRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskRegistry").field("tasks", &self.tasks.lock().len()).finish()
    }
}

impl TaskRegistry {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, tasks: Mutex::default() })
    }

    fn now(&self) -> String {
        rfc3339(self.clock.now_ms())
    }

    /// Turns a request that may run for `limit` into a task.
    ///
    /// # Errors
    /// The request, if there are too many tasks.
    pub(crate) fn begin(
        self: &Arc<Self>,
        exchange: ClientExchange,
        limit: Duration,
    ) -> Result<Task, Box<ClientExchange>> {
        let scope = exchange.scope.clone();
        let now = self.now();
        let kept = Arc::new(StoredTask {
            scope: scope.clone(),
            cancel: exchange.cancel.clone(),
            created_at: now.clone(),
            ttl_ms: u64::try_from((limit + RETENTION).as_millis()).unwrap_or(u64::MAX),
            state: Mutex::new(StoredTaskState { updated_at: now, message: None, stage: TaskStage::Working }),
        });
        let id = uuid::Uuid::new_v4().to_string();
        {
            let mut all = self.tasks.lock();
            let mine = all.values().filter(|task| task.is_owned_by(&scope)).count();
            if all.len() >= MAX_TASKS || mine >= MAX_TASKS_PER_PRINCIPAL {
                return Err(Box::new(exchange));
            }
            all.insert(id.clone(), Arc::clone(&kept));
        }
        let (tasks, key) = (Arc::clone(self), id.clone());
        let task = kept.task(&id);
        tokio::spawn(async move {
            kept.run(exchange, &tasks).await;
            tokio::time::sleep(RETENTION).await;
            let over = tasks.tasks.lock().remove(&key);
            drop(over);
        });
        Ok(task)
    }

    fn find(&self, id: &str, scope: &ClientScope) -> Result<Arc<StoredTask>, ErrorData> {
        let found = self.tasks.lock().get(id).filter(|task| task.is_owned_by(scope)).map(Arc::clone);
        found.ok_or_else(|| ErrorData::invalid_params(format!("there is no task {id:?}"), None))
    }

    /// Returns the state of a task: a result of `tasks/get` as a JSON object, with the call's result unchanged.
    pub(crate) fn get(&self, id: &str, scope: &ClientScope) -> Result<String, ErrorData> {
        let kept = self.find(id, scope)?;
        let state = kept.state.lock();
        let mut shown = TaskView {
            result_type: ResultType::COMPLETE,
            task: kept.task_with_state(id, &state),
            input_requests: None,
            result: None,
            error: None,
        };
        shown.task.status = match &state.stage {
            TaskStage::Working => TaskStatus::Working,
            TaskStage::Cancelled => TaskStatus::Cancelled,
            TaskStage::InputRequired(requests, _) => {
                shown.input_requests = Some(requests);
                TaskStatus::InputRequired
            }
            TaskStage::Completed(result) => {
                shown.result = Some(result);
                TaskStatus::Completed
            }
            TaskStage::Failed(error) => {
                shown.error = Some(error);
                TaskStatus::Failed
            }
        };
        Ok(outgoing::to_json(&shown))
    }

    /// Submits answers to a task's questions. Unknown keys are ignored.
    pub(crate) fn update(
        &self,
        id: &str,
        scope: &ClientScope,
        answers: InputResponses,
    ) -> Result<(), ErrorData> {
        let kept = self.find(id, scope)?;
        let now = self.now();
        let answered = {
            let mut state = kept.state.lock();
            let TaskStage::InputRequired(requests, waiting) = &mut state.stage else { return Ok(()) };
            for (key, answer) in answers {
                if requests.remove(&key).is_some()
                    && let Some(waiting) = waiting
                {
                    waiting.received.insert(key, answer);
                }
            }
            let is_whole = waiting
                .as_ref()
                .is_some_and(|waiting| waiting.keys.iter().all(|key| waiting.received.contains_key(key)));
            let answered = if is_whole { waiting.take() } else { None };
            if answered.is_some() {
                state.stage = TaskStage::Working;
            }
            state.updated_at = now;
            answered
        };
        if let Some(PendingTaskInput { pending, received: given, .. }) = answered {
            pending.submit(&kept.scope, Ok(given));
        }
        Ok(())
    }

    /// Cancels a task. Its result is available later.
    pub(crate) fn cancel(&self, id: &str, scope: &ClientScope) -> Result<(), ErrorData> {
        self.find(id, scope)?.cancel.cancel();
        Ok(())
    }
}

impl StoredTask {
    fn is_owned_by(&self, scope: &ClientScope) -> bool {
        self.scope.is_same_as(scope)
    }

    fn task(&self, id: &str) -> Task {
        self.task_with_state(id, &self.state.lock())
    }

    fn task_with_state(&self, id: &str, state: &StoredTaskState) -> Task {
        let created = self.created_at.clone();
        let mut task = Task::new(id, TaskStatus::Working, created, state.updated_at.clone())
            .with_ttl_ms(self.ttl_ms)
            .with_poll_interval_ms(POLL_INTERVAL_MS);
        task.status_message.clone_from(&state.message);
        task
    }

    fn update_state(&self, tasks: &TaskRegistry, change: impl FnOnce(&mut StoredTaskState)) {
        let mut state = self.state.lock();
        state.updated_at = tasks.now();
        change(&mut state);
    }

    async fn run(&self, mut exchange: ClientExchange, tasks: &TaskRegistry) {
        if let Some(said) = exchange.next_message.take() {
            self.handle_message(said, &exchange, tasks);
        }
        let ended = loop {
            tokio::select! {
                biased;
                done = &mut exchange.work => break done,
                () = self.scope.revoked.cancelled(), if !self.cancel.is_cancelled() => self.cancel.cancel(),
                Some(said) = exchange.messages.recv() => self.handle_message(said, &exchange, tasks),
            }
        };
        let was_cancelled = self.cancel.is_cancelled();
        self.update_state(tasks, |state| {
            state.stage = match ended {
                _ if was_cancelled => TaskStage::Cancelled,
                Ok(result) => match RawValue::from_string(result) {
                    Ok(result) => TaskStage::Completed(result),
                    Err(error) => TaskStage::Failed(ErrorData::internal_error(error.to_string(), None)),
                },
                Err(error) => TaskStage::Failed(error),
            }
        });
    }

    /// Handles a message of the call to its client.
    fn handle_message(&self, said: ClientMessage, exchange: &ClientExchange, tasks: &TaskRegistry) {
        match said {
            ClientMessage::Progress(progress) => self.update_state(tasks, |state| {
                if let Some(message) = progress.message {
                    state.message = Some(message);
                }
            }),
            // A task has no stream for log messages.
            ClientMessage::Log(_) => {}
            ClientMessage::InputRequests(asked) => {
                self.request_input(tasks, asked.requests, PendingAnswer::Answers(asked.answers))
            }
            ClientMessage::Consent(question) => self.request_consent(tasks, exchange, question),
        }
    }

    fn request_input(&self, tasks: &TaskRegistry, requests: InputRequests, pending: PendingAnswer) {
        let keys = requests.keys().cloned().collect();
        let waiting = PendingTaskInput { pending, keys, received: InputResponses::new() };
        let mut refused = None;
        self.update_state(tasks, |state| match &state.stage {
            // One question at a time: further ones get no answer.
            TaskStage::InputRequired(..) => refused = Some(waiting),
            _ => state.stage = TaskStage::InputRequired(requests, Some(waiting)),
        });
        if let Some(PendingTaskInput { pending, .. }) = refused {
            pending.submit(&self.scope, Err(InputRequestError::TooMany));
        }
    }

    fn request_consent(&self, tasks: &TaskRegistry, exchange: &ClientExchange, question: Arc<Question>) {
        if let Some(requests) = consent::elicitation_form(&question) {
            self.request_input(tasks, requests, PendingAnswer::Consent(exchange.consent_request(question)));
        }
    }
}

/// Formats a time according to RFC 3339, in UTC with milliseconds.
fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}
