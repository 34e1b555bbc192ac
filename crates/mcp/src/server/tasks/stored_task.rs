//! One task: its call, its state, and its open questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{InputRequest, InputRequests, InputResponses, ResultType, Task, TaskStatus};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use toolway_core::consent::Question;
use toolway_types::{Clock, PrincipalId};

use super::questions::TaskQuestions;
use crate::client_link::InputRequestError;
use crate::server::client::ClientMessage;
use crate::server::client_scope::ClientScope;
use crate::server::consent;
use crate::server::exchange::ClientExchange;
use crate::server::outgoing;
use crate::server::pending_requests::PendingAnswer;
use crate::server::principal_quota::PrincipalQuota;

/// The recommended poll interval for clients.
const POLL_INTERVAL_MS: u64 = 500;

/// One task.
pub(super) struct StoredTask {
    scope: ClientScope,
    cancel: CancellationToken,
    created_at: String,
    ttl_ms: u64,
    clock: Arc<dyn Clock>,
    question_quota: Arc<PrincipalQuota>,
    state: Mutex<StoredTaskState>,
}

/// The state of a task.
struct StoredTaskState {
    updated_at: String,
    message: Option<String>,
    stage: TaskStage,
}

enum TaskStage {
    /// The call runs. With open questions, it needs input.
    Running(TaskQuestions),
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
    input_requests: Option<BTreeMap<&'a str, &'a InputRequest>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorData>,
}

impl StoredTask {
    /// Creates the task of a request.
    pub(super) fn new(
        exchange: &ClientExchange,
        ttl_ms: u64,
        clock: Arc<dyn Clock>,
        question_quota: Arc<PrincipalQuota>,
    ) -> Self {
        let now = rfc3339(clock.now_ms());
        let (message, stage) = (exchange.last_message.clone(), TaskStage::Running(TaskQuestions::default()));
        Self {
            scope: exchange.scope.clone(),
            cancel: exchange.cancel.clone(),
            created_at: now.clone(),
            ttl_ms,
            clock,
            question_quota,
            state: Mutex::new(StoredTaskState { updated_at: now, message, stage }),
        }
    }

    pub(super) fn principal(&self) -> &PrincipalId {
        &self.scope.caller.principal.id
    }

    pub(super) fn is_owned_by(&self, scope: &ClientScope) -> bool {
        self.scope.is_same_as(scope)
    }

    /// The task for its creation result.
    pub(super) fn task(&self, id: &str) -> Task {
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

    /// The state as a result of `tasks/get`: a JSON object, with the call's result unchanged.
    pub(super) fn view(&self, id: &str) -> String {
        let mut state = self.state.lock();
        let mut shown = TaskView {
            result_type: ResultType::COMPLETE,
            task: self.task_with_state(id, &state),
            input_requests: None,
            result: None,
            error: None,
        };
        shown.task.status = match &mut state.stage {
            TaskStage::Running(questions) => {
                let open = questions.open_requests();
                if open.is_empty() {
                    TaskStatus::Working
                } else {
                    shown.input_requests = Some(open);
                    TaskStatus::InputRequired
                }
            }
            TaskStage::Cancelled => TaskStatus::Cancelled,
            TaskStage::Completed(result) => {
                shown.result = Some(result);
                TaskStatus::Completed
            }
            TaskStage::Failed(error) => {
                shown.error = Some(error);
                TaskStatus::Failed
            }
        };
        outgoing::to_json(&shown)
    }

    /// Submits answers to the open questions. Unknown keys are ignored.
    pub(super) fn answer(&self, answers: InputResponses) {
        let answered = self.update_state(|state| match &mut state.stage {
            TaskStage::Running(questions) => questions.answer(answers),
            _ => Vec::new(),
        });
        for group in answered {
            group.pending.submit(&self.scope, Ok(group.answers));
        }
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Runs the call to its end.
    pub(super) async fn run(&self, mut exchange: ClientExchange) {
        if let Some(message) = exchange.next_message.take() {
            self.handle_message(message, &exchange);
        }
        let ended = loop {
            tokio::select! {
                biased;
                done = &mut exchange.work => break done,
                () = self.scope.revoked.cancelled(), if !self.cancel.is_cancelled() => self.cancel.cancel(),
                Some(message) = exchange.messages.recv() => self.handle_message(message, &exchange),
            }
        };
        let was_cancelled = self.cancel.is_cancelled();
        let stage = match ended {
            _ if was_cancelled => TaskStage::Cancelled,
            Ok(result) => match RawValue::from_string(result) {
                Ok(result) => TaskStage::Completed(result),
                Err(error) => TaskStage::Failed(ErrorData::internal_error(error.to_string(), None)),
            },
            Err(error) => TaskStage::Failed(error),
        };
        // Its open questions are dropped without the lock.
        let before = self.update_state(|state| std::mem::replace(&mut state.stage, stage));
        drop(before);
    }

    fn update_state<T>(&self, change: impl FnOnce(&mut StoredTaskState) -> T) -> T {
        let now = rfc3339(self.clock.now_ms());
        let mut state = self.state.lock();
        state.updated_at = now;
        change(&mut state)
    }

    /// Handles a message of the call to its client.
    fn handle_message(&self, message: ClientMessage, exchange: &ClientExchange) {
        match message {
            ClientMessage::Progress(progress) => self.update_state(|state| {
                if let Some(message) = progress.message {
                    state.message = Some(message);
                }
            }),
            // A task has no stream for log messages.
            ClientMessage::Log(_) => {}
            ClientMessage::InputRequests(asked) => {
                self.request_input(asked.requests, PendingAnswer::Answers(asked.answers))
            }
            ClientMessage::Consent(question) => self.request_consent(exchange, question),
        }
    }

    fn request_input(&self, requests: InputRequests, pending: PendingAnswer) {
        let bytes = serde_json::to_vec(&requests).map_or(0, |written| written.len());
        let added = match self.question_quota.acquire(self.principal(), bytes) {
            Some(permit) => self.update_state(|state| match &mut state.stage {
                TaskStage::Running(questions) => questions.add(requests, pending, permit),
                _ => Err(pending),
            }),
            None => Err(pending),
        };
        if let Err(pending) = added {
            pending.submit(&self.scope, Err(InputRequestError::TooMany));
        }
    }

    fn request_consent(&self, exchange: &ClientExchange, question: Arc<Question>) {
        if let Some(requests) = consent::elicitation_form(&question) {
            self.request_input(requests, PendingAnswer::Consent(exchange.consent_request(question)));
        }
    }
}

/// Formats a time according to RFC 3339, in UTC with milliseconds.
fn rfc3339(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}
