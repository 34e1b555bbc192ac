//! Gates: places in an answer where it waits until the test opens them, so that no test has to sleep.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// How a gate stands.
#[derive(Debug, Clone, Copy, Default)]
struct GateState {
    /// How many answers have come to it.
    arrived: u64,
    /// How many it lets through in all.
    admitted: u64,
}

/// All gates of a server, by name. A gate exists as soon as somebody names it, and is closed then.
#[derive(Debug, Clone, Default)]
pub(crate) struct GateRegistry {
    by_name: Arc<Mutex<HashMap<String, watch::Sender<GateState>>>>,
}

impl GateRegistry {
    fn gate(&self, name: &str) -> watch::Sender<GateState> {
        self.by_name.lock().entry(name.to_owned()).or_default().clone()
    }

    /// Lets everything through from now on.
    pub(crate) fn open(&self, name: &str) {
        self.gate(name).send_modify(|state| state.admitted = u64::MAX);
    }

    /// Lets that many more through.
    pub(crate) fn admit(&self, name: &str, count: u64) {
        self.gate(name).send_modify(|state| state.admitted = state.admitted.saturating_add(count));
    }

    /// Comes to a gate and waits until it lets us through.
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

    /// Waits until that many have come to a gate in all.
    pub(crate) async fn wait_for_arrivals(&self, name: &str, count: u64) {
        let gate = self.gate(name);
        let _ = gate.subscribe().wait_for(|state| state.arrived >= count).await;
    }

    /// Opens all gates there are and forgets them.
    pub(crate) fn clear(&self) {
        for (_, gate) in self.by_name.lock().drain() {
            gate.send_modify(|state| state.admitted = u64::MAX);
        }
    }
}
