//! The ways in which a turn goes on or ends.

use std::ops::ControlFlow;

use toolway_models::ToolCall;

use crate::event::{TurnFailure, TurnFailureCode};
use crate::turn::stop_signal::StopReason;

/// The reason why a turn ends.
pub(super) enum TurnExit {
    Done,
    /// The turn waits for calls that only the caller can make.
    ClientCalls(Vec<ToolCall>),
    Stopped(StopReason),
    Failed(TurnFailure),
}

/// The result of a step: the turn goes on with a value, or ends.
pub(super) type TurnFlow<T = ()> = ControlFlow<TurnExit, T>;

/// Ends the turn with a failure.
pub(super) fn fail_turn<T>(
    code: TurnFailureCode,
    message: impl Into<String>,
    hint: Option<String>,
) -> TurnFlow<T> {
    ControlFlow::Break(TurnExit::Failed(TurnFailure { code, message: message.into(), hint }))
}
