//! Stores the messages of a turn while it runs.

use std::ops::ControlFlow;

use toolway_models::ModelMessage;
use toolway_store::StoreError;

use super::flow::{TurnExit, TurnFlow, fail_turn};
use super::progress::{TurnProgress, UnsavedRecords};
use super::{HistoryTarget, TurnTask};
use crate::event::TurnFailureCode;
use crate::transcript::{self, TranscriptEntry};
use crate::turn::stop_signal::StopReason;

impl TurnTask {
    /// Adds a message to the conversation. It is stored later.
    pub(super) fn append_message(
        &mut self,
        progress: &mut TurnProgress,
        message: ModelMessage,
        is_cut: bool,
    ) {
        if matches!(self.target, HistoryTarget::Session { .. }) {
            let stored = transcript::stored_message(&self.mask_secrets(progress, &message), is_cut);
            progress.unsaved.messages.push(stored);
        }
        let seq = self.history.entries.last().map_or(1, |last| last.seq + 1);
        self.history.entries.push(TranscriptEntry {
            seq,
            turn: self.id.to_string(),
            message,
            is_cut,
            created_ms: self.deps.clock.now_ms(),
            summary_through: None,
            summarized_tools: Vec::new(),
        });
    }

    /// Stores the unsaved records before the model is asked again.
    pub(super) async fn save(&mut self, progress: &mut TurnProgress) -> TurnFlow {
        let kept = self.save_records(std::mem::take(&mut progress.unsaved)).await;
        self.handle_saved(kept)
    }

    /// Stores records. Returns the number of the next message, if it changed.
    pub(super) async fn save_records(&self, records: UnsavedRecords) -> Result<Option<u64>, StoreError> {
        let UnsavedRecords { messages, requests } = records;
        match &self.target {
            HistoryTarget::Ephemeral if requests.is_empty() => Ok(None),
            HistoryTarget::Ephemeral => self.deps.store.record(requests).await.map(|()| None),
            HistoryTarget::Session { .. } if messages.is_empty() && requests.is_empty() => Ok(None),
            HistoryTarget::Session { .. } => {
                let now = self.deps.clock.now_ms();
                let appended = self.deps.store.append(&self.id, messages, requests, now).await?;
                Ok(Some(appended.next))
            }
        }
    }

    /// Takes over the number of the next message, or ends the turn if nothing could be stored.
    pub(super) fn handle_saved(&mut self, kept: Result<Option<u64>, StoreError>) -> TurnFlow {
        match (kept, &mut self.target) {
            (Ok(Some(number)), HistoryTarget::Session { next, .. }) => *next = number,
            (Ok(_), _) => {}
            // Its session was removed, or a backup put in its place.
            (Err(StoreError::Missing { .. }), _) => {
                return ControlFlow::Break(TurnExit::Stopped(StopReason::Aborted));
            }
            (Err(error), HistoryTarget::Ephemeral) => {
                tracing::error!("a request to a model was not recorded: {error}");
            }
            (Err(error), HistoryTarget::Session { .. }) => {
                let message = format!("the messages could not be stored: {error}");
                return fail_turn(TurnFailureCode::Internal, message, None);
            }
        }
        ControlFlow::Continue(())
    }
}
