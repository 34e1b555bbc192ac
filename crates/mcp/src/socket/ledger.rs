//! Which of a connection's requests are in flight, and which of them came in one batch and are answered in one.

use std::collections::HashMap;

use rmcp::model::{ProtocolVersion, RequestId};

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRejection {
    /// One with its id is in flight.
    IdInUse,
    /// So many are in flight already.
    TooMany(usize),
}

/// A connection's requests.
#[derive(Debug)]
pub(super) struct RequestLedger {
    limit: usize,
    /// What is in flight, with the batch that it came in.
    in_flight: HashMap<RequestId, Option<u64>>,
    batches: HashMap<u64, JsonRpcBatch>,
    next_batch: u64,
    version: Option<ProtocolVersion>,
}

/// Messages that came together.
#[derive(Debug, Default)]
struct JsonRpcBatch {
    /// How many of its requests are in flight.
    open: usize,
    /// Whether all of it has been read.
    is_sealed: bool,
    answers: Vec<String>,
}

impl RequestLedger {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, in_flight: HashMap::new(), batches: HashMap::new(), next_batch: 0, version: None }
    }

    /// The version that a handshake agreed.
    pub(super) fn version(&self) -> Option<&ProtocolVersion> {
        self.version.as_ref()
    }

    pub(super) fn set_version(&mut self, version: ProtocolVersion) {
        self.version = Some(version);
    }

    /// A request comes in.
    pub(super) fn admit(&mut self, id: &RequestId, batch: Option<u64>) -> Result<(), RequestRejection> {
        if self.in_flight.contains_key(id) {
            return Err(RequestRejection::IdInUse);
        }
        if self.in_flight.len() >= self.limit {
            return Err(RequestRejection::TooMany(self.limit));
        }
        self.in_flight.insert(id.clone(), batch);
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.open += 1;
        }
        Ok(())
    }

    /// A request is answered. Gives what is to be written now: the answer, a whole batch of them, or nothing yet.
    pub(super) fn complete(&mut self, id: &RequestId, answer: String) -> Option<String> {
        let Some(Some(number)) = self.in_flight.remove(id) else { return Some(answer) };
        self.settle(number, Some(answer))
    }

    /// A request is cancelled, so that nothing answers it. Gives the rest of its batch where that is whole now.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<String> {
        let number = self.in_flight.remove(id)??;
        self.settle(number, None)
    }

    fn settle(&mut self, number: u64, answer: Option<String>) -> Option<String> {
        let batch = self.batches.get_mut(&number)?;
        batch.answers.extend(answer);
        batch.open = batch.open.saturating_sub(1);
        self.take_complete_batch(number)
    }

    /// A batch begins.
    pub(super) fn open_batch(&mut self) -> u64 {
        self.next_batch += 1;
        self.batches.insert(self.next_batch, JsonRpcBatch::default());
        self.next_batch
    }

    /// Something in a batch was no request that could be taken.
    pub(super) fn add_refusal(&mut self, number: u64, answer: String) {
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.answers.push(answer);
        }
    }

    /// All of a batch has been read. Gives its answers where they are whole already.
    pub(super) fn seal(&mut self, number: u64) -> Option<String> {
        self.batches.get_mut(&number)?.is_sealed = true;
        self.take_complete_batch(number)
    }

    /// The answers of a batch once they are all there; a batch that wants none has none.
    fn take_complete_batch(&mut self, number: u64) -> Option<String> {
        let is_whole = self.batches.get(&number).is_some_and(|batch| batch.is_sealed && batch.open == 0);
        let batch = if is_whole { self.batches.remove(&number)? } else { return None };
        (!batch.answers.is_empty()).then(|| format!("[{}]", batch.answers.join(",")))
    }
}
