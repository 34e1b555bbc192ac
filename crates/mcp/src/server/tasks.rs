//! Tasks: calls that outlast their request (2026-07-28 with the tasks extension, SEP-2663). A client with that
//! extension gets a task id instead of a result, polls the task, and answers its questions.

mod questions;
mod stored_task;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{InputResponses, Task};
use toolway_types::Clock;

use self::stored_task::StoredTask;
use super::client_scope::ClientScope;
use super::exchange::ClientExchange;
use super::principal_quota::PrincipalQuota;

/// Time after which a call becomes a task. A call that asks its client something becomes one at once.
pub(crate) const TASK_AFTER: Duration = Duration::from_millis(500);
/// Retention of an ended task.
const RETENTION: Duration = Duration::from_secs(600);
/// Maximum number of tasks.
const MAX_TASKS: usize = 1_024;
/// Maximum number of tasks of one principal.
const MAX_TASKS_PER_PRINCIPAL: usize = 64;

/// The tasks.
pub(crate) struct TaskRegistry {
    clock: Arc<dyn Clock>,
    tasks: Mutex<HashMap<String, Arc<StoredTask>>>,
    /// Limits the size of open questions.
    question_quota: Arc<PrincipalQuota>,
}

impl std::fmt::Debug for TaskRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskRegistry").field("tasks", &self.tasks.lock().len()).finish()
    }
}

impl TaskRegistry {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, tasks: Mutex::default(), question_quota: Arc::default() })
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
        let ttl_ms = u64::try_from((limit + RETENTION).as_millis()).unwrap_or(u64::MAX);
        let (clock, quota) = (Arc::clone(&self.clock), Arc::clone(&self.question_quota));
        let stored = Arc::new(StoredTask::new(&exchange, ttl_ms, clock, quota));
        let id = uuid::Uuid::new_v4().to_string();
        {
            let mut all = self.tasks.lock();
            let mine = all.values().filter(|task| task.principal() == stored.principal()).count();
            if all.len() >= MAX_TASKS || mine >= MAX_TASKS_PER_PRINCIPAL {
                return Err(Box::new(exchange));
            }
            all.insert(id.clone(), Arc::clone(&stored));
        }
        let (tasks, key) = (Arc::clone(self), id.clone());
        let task = stored.task(&id);
        tokio::spawn(async move {
            stored.run(exchange).await;
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
        Ok(self.find(id, scope)?.view(id))
    }

    /// Submits answers to a task's questions. Unknown keys are ignored.
    pub(crate) fn update(
        &self,
        id: &str,
        scope: &ClientScope,
        answers: InputResponses,
    ) -> Result<(), ErrorData> {
        self.find(id, scope)?.answer(answers);
        Ok(())
    }

    /// Cancels a task. Its result is available later.
    pub(crate) fn cancel(&self, id: &str, scope: &ClientScope) -> Result<(), ErrorData> {
        self.find(id, scope)?.cancel();
        Ok(())
    }
}
