//! Ends a turn: stores its last messages and reports its result.

use toolway_store::{StoreError, TurnEnding, TurnState};

use super::flow::TurnExit;
use super::progress::{TurnProgress, UnsavedRecords};
use super::{HistoryTarget, TurnTask};
use crate::event::{TurnEnd, TurnFailure, TurnFailureCode, TurnStatus};
use crate::turn::request_attribution::{finish_code, token_counts};
use crate::turn::stop_signal::StopReason;

impl TurnTask {
    /// Stores the end of the turn and returns it.
    pub(super) async fn end(&mut self, progress: TurnProgress, over: TurnExit) -> TurnEnd {
        let TurnProgress { meter, unsaved, finish, .. } = progress;
        let (status, client_calls) = match over {
            TurnExit::Done => (TurnStatus::Done, Vec::new()),
            TurnExit::ClientCalls(calls) => (TurnStatus::Done, calls),
            TurnExit::Stopped(StopReason::Aborted) => (TurnStatus::Aborted, Vec::new()),
            TurnExit::Stopped(StopReason::ShuttingDown) => {
                (TurnStatus::Failed(shutdown_failure()), Vec::new())
            }
            TurnExit::Failed(failure) => (TurnStatus::Failed(failure), Vec::new()),
        };
        let (cost, currency) = meter.cost();
        let mut end = TurnEnd {
            status,
            full_response: self.broadcast.text_from(0),
            usage: meter.usage,
            cost,
            currency,
            rounds: meter.rounds,
            tool_calls: meter.calls,
            finish,
            client_calls,
        };
        let kept = match &self.target {
            HistoryTarget::Ephemeral => {
                let requests = UnsavedRecords { requests: unsaved.requests, ..UnsavedRecords::default() };
                self.save_records(requests).await.map(drop)
            }
            HistoryTarget::Session { .. } => {
                let ending = self.ending(&end, unsaved);
                self.deps.store.end(ending).await.map(drop)
            }
        };
        match kept {
            Ok(()) | Err(StoreError::Missing { .. }) => {}
            Err(error) => {
                tracing::error!(turn = &*self.id, "the end of a turn was not stored: {error}");
                if matches!(self.target, HistoryTarget::Session { .. }) && end.status == TurnStatus::Done {
                    end.status = TurnStatus::Failed(TurnFailure {
                        code: TurnFailureCode::Internal,
                        message: format!("the messages could not be stored: {error}"),
                        hint: None,
                    });
                }
            }
        }
        end
    }

    fn ending(&self, end: &TurnEnd, unsaved: UnsavedRecords) -> TurnEnding {
        let (state, failure) = match &end.status {
            TurnStatus::Done => (TurnState::Done, None),
            TurnStatus::Aborted => (TurnState::Aborted, None),
            TurnStatus::Failed(failure) => (TurnState::Failed, Some(failure)),
        };
        TurnEnding {
            turn: self.id.to_string(),
            state,
            ended_ms: self.deps.clock.now_ms(),
            messages: unsaved.messages,
            requests: unsaved.requests,
            code: failure.map(|failure| failure.code.as_str().to_owned()),
            message: failure.map(|failure| failure.message.clone()),
            finish: end.finish.as_ref().map(finish_code),
            rounds: end.rounds,
            calls: end.tool_calls,
            tokens: token_counts(end.usage),
            cost: end.cost,
            currency: end.currency.clone(),
        }
    }
}

fn shutdown_failure() -> TurnFailure {
    TurnFailure {
        code: TurnFailureCode::ShuttingDown,
        message: "the gateway is shutting down".to_owned(),
        hint: Some("the messages are stored; continue when it is back".to_owned()),
    }
}
