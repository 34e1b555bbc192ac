//! What is remembered between a question and the retry that brings its answer. The client gets a random text for it,
//! which can be used once, for the tool or prompt that it was given for.

use std::collections::HashMap;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::InputResponses;

/// More than so many are not remembered: a test does not come near.
const MAX_STATES: usize = 10_000;

/// What was answered so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AnsweredSoFar {
    pub(crate) answers: InputResponses,
}

#[derive(Debug, Default)]
pub(crate) struct RequestStates(Mutex<HashMap<String, (String, AnsweredSoFar)>>);

impl RequestStates {
    /// Remembers this and gives the text for it.
    pub(crate) fn store(&self, name: &str, progress: AnsweredSoFar) -> String {
        let state = format!("state-{}", uuid::Uuid::new_v4().simple());
        let mut kept = self.0.lock();
        if kept.len() < MAX_STATES {
            kept.insert(state.clone(), (name.to_owned(), progress));
        }
        state
    }

    /// What was remembered under this text, which is then forgotten.
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
