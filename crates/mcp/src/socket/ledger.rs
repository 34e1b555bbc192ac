//! The requests of a connection that are in flight, and the batches that they belong to.

use std::collections::HashMap;

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestRejection {
    /// A request with the same id is in flight.
    IdInUse,
    /// The maximum number of requests is in flight.
    TooMany(usize),
}

/// A connection's requests.
#[derive(Debug)]
pub(super) struct RequestLedger {
    limit: usize,
    in_flight: HashMap<RequestId, InFlightRequest>,
    batches: HashMap<u64, JsonRpcBatch>,
    next_batch: u64,
}

/// A request in flight.
#[derive(Debug)]
struct InFlightRequest {
    batch: Option<u64>,
    cancel: CancellationToken,
}

/// Messages of one batch.
#[derive(Debug, Default)]
struct JsonRpcBatch {
    /// The number of its requests in flight.
    open: usize,
    /// True after the whole batch was read.
    is_sealed: bool,
    answers: Vec<String>,
}

impl RequestLedger {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, in_flight: HashMap::new(), batches: HashMap::new(), next_batch: 0 }
    }

    /// Admits a request.
    pub(super) fn admit(
        &mut self,
        id: &RequestId,
        batch: Option<u64>,
        cancel: CancellationToken,
    ) -> Result<(), RequestRejection> {
        if self.in_flight.contains_key(id) {
            return Err(RequestRejection::IdInUse);
        }
        if self.in_flight.len() >= self.limit {
            return Err(RequestRejection::TooMany(self.limit));
        }
        self.in_flight.insert(id.clone(), InFlightRequest { batch, cancel });
        if let Some(batch) = batch.and_then(|batch| self.batches.get_mut(&batch)) {
            batch.open += 1;
        }
        Ok(())
    }

    /// Records the response to a request. Returns the text to write now: the response, a complete batch, or nothing
    /// yet.
    pub(super) fn complete(&mut self, id: &RequestId, answer: String) -> Option<String> {
        match self.in_flight.remove(id)?.batch {
            Some(number) => self.settle(number, Some(answer)),
            None => Some(answer),
        }
    }

    /// Cancels a request. It gets no response, so it is no longer in flight. Returns the rest of its batch if that is
    /// complete now.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<String> {
        let cancelled = self.in_flight.remove(id)?;
        cancelled.cancel.cancel();
        self.settle(cancelled.batch?, None)
    }

    fn settle(&mut self, number: u64, answer: Option<String>) -> Option<String> {
        let batch = self.batches.get_mut(&number)?;
        batch.answers.extend(answer);
        batch.open = batch.open.saturating_sub(1);
        self.take_complete_batch(number)
    }

    /// Starts a batch.
    pub(super) fn open_batch(&mut self) -> u64 {
        self.next_batch += 1;
        self.batches.insert(self.next_batch, JsonRpcBatch::default());
        self.next_batch
    }

    /// Adds an error reply to a batch.
    pub(super) fn add_refusal(&mut self, number: u64, answer: String) {
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.answers.push(answer);
        }
    }

    /// Marks a batch as read. Returns its responses if they are complete already.
    pub(super) fn seal(&mut self, number: u64) -> Option<String> {
        self.batches.get_mut(&number)?.is_sealed = true;
        self.take_complete_batch(number)
    }

    /// Returns the responses of a complete batch. A batch of notifications has none.
    fn take_complete_batch(&mut self, number: u64) -> Option<String> {
        let is_whole = self.batches.get(&number).is_some_and(|batch| batch.is_sealed && batch.open == 0);
        let batch = if is_whole { self.batches.remove(&number)? } else { return None };
        (!batch.answers.is_empty()).then(|| format!("[{}]", batch.answers.join(",")))
    }
}
