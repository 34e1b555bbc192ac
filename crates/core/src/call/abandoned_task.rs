//! Tasks that the engine no longer waits for. The engine aborts them, and counts those that block until they end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::{JoinError, JoinHandle};

use crate::engine::Engine;

/// Aborts a task. Async code ends at its next await point. Blocking code cannot be aborted, so it is counted until
/// it ends.
pub(super) fn abandon<T: Send + 'static>(engine: &Arc<Engine>, task: JoinHandle<T>) {
    task.abort();
    if task.is_finished() {
        return;
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let engine = engine.clone();
    engine.in_flight.abandoned_runs.fetch_add(1, Ordering::AcqRel);
    runtime.spawn(async move {
        let _ = task.await;
        engine.in_flight.abandoned_runs.fetch_sub(1, Ordering::AcqRel);
    });
}

/// Waits for a task that may block. If the future is dropped before the task ends, the task is abandoned.
pub(super) async fn wait_or_abandon<T: Send + 'static>(
    engine: &Arc<Engine>,
    task: JoinHandle<T>,
) -> Result<T, JoinError> {
    struct AbandonGuard<'a, T: Send + 'static>(Option<JoinHandle<T>>, &'a Arc<Engine>);
    impl<T: Send + 'static> Drop for AbandonGuard<'_, T> {
        fn drop(&mut self) {
            if let Some(task) = self.0.take() {
                abandon(self.1, task);
            }
        }
    }
    let mut waiting = AbandonGuard(Some(task), engine);
    let ended = match &mut waiting.0 {
        Some(task) => task.await,
        // Unreachable: the guard holds the task until it ends.
        None => std::future::pending().await,
    };
    waiting.0 = None;
    ended
}
