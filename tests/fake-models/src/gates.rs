//! Gates: positions in an answer where it waits until the test opens them, so that no test needs to sleep.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// State of a gate.
#[derive(Debug, Clone, Copy, Default)]
struct GateState {
    /// Number of answers that have reached it.
    arrived: u64,
    /// Number of answers that may pass.
    admitted: u64,
}

/// All gates of a server by name. A gate is created closed when it is first named.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateRegistry {
    by_name: Arc<Mutex<HashMap<String, watch::Sender<GateState>>>>,
}

impl GateRegistry {
    fn gate(&self, name: &str) -> watch::Sender<GateState> {
        self.by_name.lock().entry(name.to_owned()).or_default().clone()
    }

    /// Opens a gate.
    pub(crate) fn open(&self, name: &str) {
        self.gate(name).send_modify(|state| state.admitted = u64::MAX);
    }

    /// Lets `count` more answers pass.
    pub(crate) fn admit(&self, name: &str, count: u64) {
        self.gate(name).send_modify(|state| state.admitted = state.admitted.saturating_add(count));
    }

    /// Waits at a gate until it may be passed.
    pub(crate) async fn wait_to_pass(&self, name: &str) {
        let gate = self.gate(name);
        let mut state = gate.subscribe();
        let mut number = 0;
        gate.send_modify(|state| {
            state.arrived += 1;
            number = state.arrived;
        });
        // The sender is alive, since `gate` is.
        let _ = state.wait_for(|state| state.admitted >= number).await;
    }

    /// Waits until `count` answers in total have reached a gate.
    pub(crate) async fn wait_for_arrivals(&self, name: &str, count: u64) {
        let gate = self.gate(name);
        let _ = gate.subscribe().wait_for(|state| state.arrived >= count).await;
    }

    /// Opens and removes all gates.
    pub(crate) fn clear(&self) {
        for (_, gate) in self.by_name.lock().drain() {
            gate.send_modify(|state| state.admitted = u64::MAX);
        }
    }
}
