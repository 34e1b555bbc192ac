//! State between a question and the retry with the answer. The client gets a random text for it, which is
//! valid once, for the tool or prompt that it was created for.

use std::collections::HashMap;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::InputResponses;

/// Maximum number of states, far more than in any test.
const MAX_STATES: usize = 10_000;

/// The answers so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AnsweredSoFar {
    pub(crate) answers: InputResponses,
}

#[derive(Debug, Default)]
pub(crate) struct RequestStates(Mutex<HashMap<String, (String, AnsweredSoFar)>>);

impl RequestStates {
    /// Stores a state and returns its text.
    pub(crate) fn store(&self, name: &str, progress: AnsweredSoFar) -> String {
        let state = format!("state-{}", uuid::Uuid::new_v4().simple());
        let mut kept = self.0.lock();
        if kept.len() < MAX_STATES {
            kept.insert(state.clone(), (name.to_owned(), progress));
        }
        state
    }

    /// Removes and returns the state of this text.
    pub(crate) fn take(&self, name: &str, state: &str) -> Result<AnsweredSoFar, ErrorData> {
        let mut kept = self.0.lock();
        match kept.get(state) {
            Some((owner, _)) if owner == name => {
                Ok(kept.remove(state).map(|(_, progress)| progress).unwrap_or_default())
            }
            _ => Err(ErrorData::invalid_params("this requestState was not given for this request", None)),
        }
    }
}

#[cfg(test)]
mod tests;
