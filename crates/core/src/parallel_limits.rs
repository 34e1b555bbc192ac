//! Limits on the parallel calls of one principal.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use toolway_types::PrincipalId;

/// Limits the calls that one principal runs at the same time through [`Engine::call_many`](crate::Engine::call_many),
/// over all model responses.
#[derive(Debug, Default)]
pub(crate) struct ParallelCallLimits(Mutex<HashMap<PrincipalId, Arc<Semaphore>>>);

impl ParallelCallLimits {
    pub(crate) fn semaphore_for(&self, principal: &PrincipalId, width: usize) -> Arc<Semaphore> {
        let mut semaphores = self.0.lock();
        if !semaphores.contains_key(principal) {
            // An unused semaphore holds no state, so it can go.
            semaphores.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        }
        semaphores.entry(principal.clone()).or_insert_with(|| Arc::new(Semaphore::new(width))).clone()
    }
}
