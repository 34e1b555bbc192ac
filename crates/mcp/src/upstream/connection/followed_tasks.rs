//! The tasks of a server that calls follow. Messages of the server name their task (2025-11-25, "Tasks"), so they
//! reach the client of that call, on whatever stream they arrive.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::UpstreamConnection;
use crate::upstream::exchange::UpstreamExchange;

/// Time in which the response that creates a task may follow a message about that task.
const CREATION_WINDOW: Duration = Duration::from_secs(1);

/// The followed tasks of one connection, by task id. There is at most one for each running call.
#[derive(Default)]
pub(in crate::upstream) struct FollowedTasks {
    tasks: Mutex<HashMap<String, FollowedTask>>,
    added: Notify,
}

#[derive(Clone)]
struct FollowedTask {
    exchange: Arc<UpstreamExchange>,
    /// Notified when the server announces a change of the task.
    changed: Arc<Notify>,
}

impl FollowedTasks {
    /// The exchange of the call that follows this task.
    pub(in crate::upstream) fn exchange(&self, task_id: &str) -> Option<Arc<UpstreamExchange>> {
        self.tasks.lock().get(task_id).map(|task| Arc::clone(&task.exchange))
    }

    /// The same, also for a task whose creation has not been handled yet.
    pub(in crate::upstream) async fn wait_for_exchange(
        &self,
        task_id: &str,
    ) -> Option<Arc<UpstreamExchange>> {
        let found = async {
            loop {
                // Created before the check, so that a task in between is not missed.
                let added = self.added.notified();
                if let Some(exchange) = self.exchange(task_id) {
                    return exchange;
                }
                added.await;
            }
        };
        tokio::time::timeout(CREATION_WINDOW, found).await.ok()
    }

    pub(in crate::upstream) fn notify_changed(&self, task_id: &str) {
        if let Some(task) = self.tasks.lock().get(task_id) {
            task.changed.notify_one();
        }
    }

    /// Adds a task. Returns false if another call follows a task with this id.
    fn add(&self, task_id: &str, task: FollowedTask) -> bool {
        let mut tasks = self.tasks.lock();
        let is_new = !tasks.contains_key(task_id);
        if is_new {
            tasks.insert(task_id.to_owned(), task);
            self.added.notify_waiters();
        }
        is_new
    }

    fn remove(&self, task_id: &str) {
        let removed = self.tasks.lock().remove(task_id);
        drop(removed);
    }
}

/// Keeps the exchange of a call at a connection beyond the request that creates a task. Dropping it ends that.
pub(in crate::upstream) struct TaskAttachment {
    connection: Arc<UpstreamConnection>,
    exchange: Arc<UpstreamExchange>,
    /// The request that the progress of the task belongs to.
    request_id: u64,
    task_id: Option<String>,
    changed: Arc<Notify>,
}

impl TaskAttachment {
    /// Attaches an exchange under the id of the request that creates the task. `changed` is notified when the server
    /// announces a change of the task.
    pub(in crate::upstream) fn new(
        connection: &Arc<UpstreamConnection>,
        request_id: u64,
        exchange: &Arc<UpstreamExchange>,
        changed: &Arc<Notify>,
    ) -> Self {
        exchange.keep();
        connection.exchanges.lock().insert(request_id, Arc::clone(exchange));
        Self {
            connection: Arc::clone(connection),
            exchange: Arc::clone(exchange),
            request_id,
            task_id: None,
            changed: Arc::clone(changed),
        }
    }

    /// Assigns messages about this task to the call. Returns false if another call follows a task with this id.
    pub(in crate::upstream) fn follow(&mut self, task_id: &str) -> bool {
        let task = FollowedTask { exchange: Arc::clone(&self.exchange), changed: Arc::clone(&self.changed) };
        let is_new = self.connection.followed_tasks.add(task_id, task);
        if is_new {
            self.task_id = Some(task_id.to_owned());
        }
        is_new
    }

    pub(in crate::upstream) fn is_at(&self, connection: &Arc<UpstreamConnection>) -> bool {
        Arc::ptr_eq(&self.connection, connection)
    }

    pub(in crate::upstream) fn exchange(&self) -> &Arc<UpstreamExchange> {
        &self.exchange
    }

    /// Notified when the server announces a change of the task.
    pub(in crate::upstream) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }
}

impl Drop for TaskAttachment {
    fn drop(&mut self) {
        if let Some(task_id) = &self.task_id {
            self.connection.followed_tasks.remove(task_id);
        }
        self.connection.forget_exchange(self.request_id, &self.exchange);
    }
}
