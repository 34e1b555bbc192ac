//! Following a task of a server to its end (2025-11-25, "Tasks"; 2026-07-28, tasks extension). The gateway polls the
//! task, passes its questions on to the client of the call, and cancels it if the call ends first.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::StatusCode;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, InputRequests, InputResponses};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use toolway_types::RawJson;

use super::RoundTripError;
use super::questions::ask_client;
use super::task_state::{MIN_POLL_INTERVAL, TaskState, TaskStatus};
use crate::protocol_era::ProtocolEra;
use crate::upstream::capabilities;
use crate::upstream::connection::{TaskAttachment, UpstreamConnection};
use crate::upstream::error::UpstreamError;
use crate::upstream::exchange::UpstreamExchange;
use crate::upstream::frame::json_member;
use crate::upstream::older_connection::OlderConnectionUse;
use crate::upstream::server::Upstream;
use crate::upstream::transport::OutgoingRequest;

/// Maximum number of questions of one task.
const MAX_QUESTIONS: usize = 32;
/// Time in which a server may be unreachable before the call gives up its task.
const MAX_OUTAGE: Duration = Duration::from_secs(60);
/// Delay before a request to an unreachable server is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// Timeout for cancelling a task.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// Follows one task. Dropping it before the end of the task cancels the task.
pub(super) struct TaskFollower {
    id: TaskReference,
    exchange: Arc<UpstreamExchange>,
    /// The place of the exchange at the connection, for a server of the older era.
    attachment: Mutex<Option<TaskAttachment>>,
    /// Notified when the task may have changed.
    changed: Arc<Notify>,
    is_over: AtomicBool,
}

/// The task as the server knows it.
#[derive(Clone)]
struct TaskReference {
    upstream: Arc<Upstream>,
    task_id: String,
    /// The era in which the server created the task.
    era: ProtocolEra,
    /// Keeps the second connection to the server open, if the task was created there.
    older_usage: Option<Arc<OlderConnectionUse>>,
    /// The capabilities of the client, for a server of 2026-07-28.
    capabilities: ClientCapabilities,
}

type InputFuture<'a> = BoxFuture<'a, Result<(Vec<String>, InputResponses), RoundTripError>>;

impl TaskFollower {
    /// Prepares to follow a task that was just created. `older_usage` is the use of the second connection, if the
    /// task was created there.
    ///
    /// # Errors
    /// [`UpstreamError::Malformed`], if another call follows a task with this id.
    pub(super) fn new(
        upstream: &Arc<Upstream>,
        older_usage: Option<OlderConnectionUse>,
        exchange: Arc<UpstreamExchange>,
        capabilities: ClientCapabilities,
        mut attachment: Option<TaskAttachment>,
        created: &TaskState,
    ) -> Result<Self, RoundTripError> {
        if let Some(attachment) = &mut attachment
            && !attachment.follow(&created.id)
        {
            let message = "it created a task with the id of another one".to_owned();
            return Err(UpstreamError::Malformed(message).into());
        }
        let changed = attachment.as_ref().map_or_else(Arc::default, |known| Arc::clone(known.changed()));
        let id = TaskReference {
            upstream: Arc::clone(upstream),
            task_id: created.id.clone(),
            era: if attachment.is_some() { ProtocolEra::Handshake } else { ProtocolEra::Stateless },
            older_usage: older_usage.map(Arc::new),
            capabilities: capabilities::with_tasks(capabilities),
        };
        let (attachment, is_over) = (Mutex::new(attachment), AtomicBool::new(false));
        Ok(Self { id, exchange, attachment, changed, is_over })
    }

    /// Returns true if the server created the task in the older era.
    fn is_older(&self) -> bool {
        self.id.era == ProtocolEra::Handshake
    }

    /// Follows the task, and returns the result of the call.
    pub(super) async fn follow(self, created: TaskState) -> Result<RawJson, RoundTripError> {
        let mut state = created;
        let mut shown_message = None;
        let mut asked = AskedQuestions::default();
        let mut questions = FuturesUnordered::<InputFuture<'_>>::new();
        let mut updates = FuturesUnordered::<BoxFuture<'_, Result<(), RoundTripError>>>::new();
        let mut early_result: Option<BoxFuture<'_, Result<RawJson, UpstreamError>>> = None;
        let mut may_wait_for_result = self.is_older();
        loop {
            self.report(&state, &mut shown_message);
            match state.status {
                TaskStatus::Working => {}
                TaskStatus::InputRequired(requests) => {
                    let new = asked.select_new(requests)?;
                    if !new.is_empty() {
                        questions.push(Box::pin(self.ask(new)));
                    }
                    if may_wait_for_result && early_result.is_none() {
                        early_result = Some(Box::pin(self.send("tasks/result", String::new(), None)));
                    }
                }
                TaskStatus::Completed(result) => return self.result(result).await,
                TaskStatus::Failed(error) => return self.failure(error).await,
                TaskStatus::Cancelled => {
                    self.is_over.store(true, Ordering::Relaxed);
                    return Err(RoundTripError::TaskCancelled(state.message));
                }
            }
            let mut poll = Box::pin(self.poll_after(state.poll_interval));
            state = loop {
                tokio::select! {
                    polled = &mut poll => break polled?,
                    Some(answered) = questions.next(), if !questions.is_empty() => {
                        let (keys, answers) = answered?;
                        asked.forget_unanswered(keys, &answers);
                        updates.push(Box::pin(self.update(answers)));
                    }
                    Some(updated) = updates.next(), if !updates.is_empty() => {
                        updated?;
                        self.changed.notify_one();
                    }
                    result = wait_for(&mut early_result) => {
                        early_result = None;
                        match result {
                            Ok(result) => {
                                self.is_over.store(true, Ordering::Relaxed);
                                return Ok(result);
                            }
                            // The task may have failed, or the server does not let clients wait here. The next
                            // poll tells.
                            Err(UpstreamError::RpcError(_)) => may_wait_for_result = false,
                            Err(_) => {}
                        }
                        self.changed.notify_one();
                    }
                }
            };
        }
    }

    /// Reports a new status message as progress.
    fn report(&self, state: &TaskState, shown: &mut Option<String>) {
        if let (Some(call), Some(message)) = (&self.exchange.call, &state.message)
            && shown.as_ref() != Some(message)
        {
            call.report_message(message.clone());
            *shown = Some(message.clone());
        }
    }

    /// Asks the client these questions, and returns their keys with the answers.
    async fn ask(&self, requests: InputRequests) -> Result<(Vec<String>, InputResponses), RoundTripError> {
        let keys = requests.keys().cloned().collect();
        Ok((keys, ask_client(&self.id.upstream, &self.exchange, requests).await?))
    }

    /// Submits answers. An error of the server is no failure of the call: the next poll shows the state of the task.
    async fn update(&self, answers: InputResponses) -> Result<(), RoundTripError> {
        let members = json_member("inputResponses", &answers);
        match self.send_reliably("tasks/update", members).await {
            Ok(_) | Err(UpstreamError::RpcError(_)) => Ok(()),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Waits until the next poll is due, and polls. A server that announces many changes is not polled more often than
    /// the minimum interval allows.
    async fn poll_after(&self, interval: Duration) -> Result<TaskState, RoundTripError> {
        sleep(MIN_POLL_INTERVAL).await;
        tokio::select! {
            () = sleep(interval.saturating_sub(MIN_POLL_INTERVAL)) => {}
            () = self.changed.notified() => {}
        }
        match self.send_reliably("tasks/get", String::new()).await {
            Ok(raw) => Ok(TaskState::parse(&raw)?),
            Err(UpstreamError::RpcError(error)) => {
                self.is_over.store(true, Ordering::Relaxed);
                Err(RoundTripError::TaskLost(error.message.into_owned()))
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// The result of a completed task.
    async fn result(&self, inlined: Option<RawJson>) -> Result<RawJson, RoundTripError> {
        self.is_over.store(true, Ordering::Relaxed);
        match inlined {
            Some(result) => Ok(result),
            None if self.is_older() => Ok(self.send_reliably("tasks/result", String::new()).await?),
            None => Err(UpstreamError::Malformed("its completed task has no result".to_owned()).into()),
        }
    }

    /// The outcome of a failed task. In the older era, this may be a result of the tool that reports an error.
    async fn failure(&self, inlined: Option<ErrorData>) -> Result<RawJson, RoundTripError> {
        self.is_over.store(true, Ordering::Relaxed);
        match inlined {
            Some(error) => Err(UpstreamError::RpcError(error).into()),
            None if self.is_older() => Ok(self.send_reliably("tasks/result", String::new()).await?),
            None => Err(UpstreamError::Malformed("its failed task has no error".to_owned()).into()),
        }
    }

    /// Sends a request about the task. It is repeated while the server is unreachable, because a task outlives its
    /// connection. Repeating is safe: answers to a question count once.
    async fn send_reliably(&self, method: &'static str, members: String) -> Result<RawJson, UpstreamError> {
        let limit = self.id.upstream.server().deps().settings.request_timeout;
        let start = Instant::now();
        loop {
            let sent = self.send(method, members.clone(), Some(limit)).await;
            match sent {
                Err(fault)
                    if is_temporary(&fault)
                        && start.elapsed() < MAX_OUTAGE
                        && !self.id.upstream.stop_token().is_cancelled() =>
                {
                    sleep(RETRY_DELAY).await;
                }
                sent => return sent,
            }
        }
    }

    async fn send(
        &self,
        method: &'static str,
        members: String,
        limit: Option<Duration>,
    ) -> Result<RawJson, UpstreamError> {
        let connection = self.id.connect().await?;
        if self.is_older() {
            self.attach(&connection);
        }
        let sending = self.id.send(&connection, method, &members, Some(Arc::clone(&self.exchange)));
        let Some(limit) = limit else { return sending.await };
        timeout(limit, sending).await.unwrap_or(Err(UpstreamError::TimedOut(limit)))
    }

    /// Moves the exchange to another connection, where the server may send questions of the task.
    fn attach(&self, connection: &Arc<UpstreamConnection>) {
        let mut attachment = self.attachment.lock();
        if attachment.as_ref().is_some_and(|attachment| attachment.is_at(connection)) {
            return;
        }
        // First, because it aborts the questions of the old connection.
        drop(attachment.take());
        // Progress tokens are those of the old connection, so the id must be one that the server does not know.
        let mut new = TaskAttachment::new(connection, connection.next_id(), &self.exchange, &self.changed);
        new.follow(&self.id.task_id);
        *attachment = Some(new);
    }
}

impl Drop for TaskFollower {
    fn drop(&mut self) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let id = self.id.clone();
        runtime.spawn(async move {
            let cancelling = async {
                let connection = id.connect().await?;
                id.send(&connection, "tasks/cancel", "", None).await
            };
            if let Ok(Err(fault)) = timeout(CANCEL_TIMEOUT, cancelling).await {
                tracing::debug!(server = %id.upstream.slug(), %fault, "a task could not be cancelled");
            }
        });
    }
}

impl TaskReference {
    /// Returns the connection that knows the task: the one of the era in which the task was created.
    async fn connect(&self) -> Result<Arc<UpstreamConnection>, UpstreamError> {
        let connection = match &self.older_usage {
            None => self.upstream.wait_connected(None).await?,
            Some(_) => {
                let older = self.upstream.connect_older(None).await;
                let older = older.ok_or_else(|| {
                    UpstreamError::NotConnected("it does not open its connection of the older era".to_owned())
                })?;
                Arc::clone(older.connection())
            }
        };
        let era = connection.negotiated().map(|settled| settled.era);
        if era != Some(self.era) {
            let message =
                "it now speaks another version of MCP, and its task was created in the previous one";
            return Err(UpstreamError::Malformed(message.to_owned()));
        }
        Ok(connection)
    }

    /// Sends a request about the task once.
    async fn send(
        &self,
        connection: &Arc<UpstreamConnection>,
        method: &'static str,
        members: &str,
        exchange: Option<Arc<UpstreamExchange>>,
    ) -> Result<RawJson, UpstreamError> {
        let mut params = format!("{{{}", json_member("taskId", &self.task_id));
        if !members.is_empty() {
            params.push(',');
            params.push_str(members);
        }
        if connection.is_stateless() {
            params.push(',');
            let (meta, era) = (serde_json::Map::new(), Some(ProtocolEra::Stateless));
            connection.meta().write(&mut params, None, era, Some((&meta, &self.capabilities)), None);
        }
        params.push('}');
        let sent = connection
            .request(OutgoingRequest {
                id: connection.next_id(),
                method,
                name: Some(&self.task_id),
                params,
                headers: Vec::new(),
                exchange,
            })
            .await;
        if let Err(fault @ UpstreamError::Unreachable(_)) = &sent {
            connection.fail(fault.clone());
        }
        sent
    }
}

/// The questions that the client was asked.
#[derive(Default)]
struct AskedQuestions {
    keys: HashSet<String>,
    count: usize,
}

impl AskedQuestions {
    /// Selects the questions that were not asked before.
    fn select_new(&mut self, mut requests: InputRequests) -> Result<InputRequests, RoundTripError> {
        requests.retain(|key, _| !self.keys.contains(key));
        self.count += requests.len();
        if self.count > MAX_QUESTIONS {
            return Err(RoundTripError::TooManyQuestions);
        }
        self.keys.extend(requests.keys().cloned());
        Ok(requests)
    }

    /// Forgets the questions that got no answer, so that they are asked again.
    fn forget_unanswered(&mut self, keys: Vec<String>, answers: &InputResponses) {
        for key in keys {
            if !answers.contains_key(&key) {
                self.keys.remove(&key);
            }
        }
    }
}

/// Waits for a future, if there is one.
async fn wait_for<T>(future: &mut Option<BoxFuture<'_, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Returns true if the same request may succeed later.
fn is_temporary(fault: &UpstreamError) -> bool {
    match fault {
        UpstreamError::NotConnected(_)
        | UpstreamError::Unreachable(_)
        | UpstreamError::ConnectionLost(_)
        | UpstreamError::SessionExpired(_)
        | UpstreamError::NoToken(_)
        | UpstreamError::TimedOut(_) => true,
        UpstreamError::Status(status, _) => {
            status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
        }
        UpstreamError::NeedsLogin(_)
        | UpstreamError::RpcError(_)
        | UpstreamError::TooLarge(_)
        | UpstreamError::Malformed(_)
        | UpstreamError::InvalidDefinition(_) => false,
    }
}
