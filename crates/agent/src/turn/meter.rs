//! Measures a turn's usage and checks it against the turn's limits.

use std::time::Duration;

use tokio::time::Instant;
use toolway_models::ModelUsage;

use crate::definition::TurnLimits;
use crate::event::{TurnFailure, TurnFailureCode};
use crate::prices::Cost;

/// Usage of a turn so far.
#[derive(Debug)]
pub(super) struct TurnMeter {
    limits: TurnLimits,
    began: Instant,
    /// Time spent waiting for people.
    waited: Duration,
    pub(super) rounds: u32,
    pub(super) calls: u32,
    pub(super) usage: ModelUsage,
    spent: f64,
    currency: Option<String>,
    /// Number of requests without a known price.
    unpriced: u32,
}

impl TurnMeter {
    pub(super) fn new(limits: TurnLimits) -> Self {
        Self {
            limits,
            began: Instant::now(),
            waited: Duration::ZERO,
            rounds: 0,
            calls: 0,
            usage: ModelUsage::default(),
            spent: 0.0,
            currency: None,
            unpriced: 0,
        }
    }

    /// Adds a request. `answered` is true if it gave an answer.
    pub(super) fn add(&mut self, usage: ModelUsage, cost: Option<&Cost>, answered: bool) {
        self.usage = self.usage.plus(usage);
        match cost {
            Some(cost) => {
                self.spent += cost.amount;
                self.currency = Some(cost.currency.to_string());
            }
            None if answered || usage.input.is_some() || usage.output.is_some() => self.unpriced += 1,
            None => {}
        }
    }

    /// Adds time spent waiting for people.
    pub(super) fn add_waiting(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Returns the cost of the turn. `None` if the cost of a request is not known.
    pub(super) fn cost(&self) -> (Option<f64>, Option<String>) {
        match (&self.currency, self.unpriced) {
            (Some(currency), 0) => (Some(self.spent), Some(currency.clone())),
            _ => (None, None),
        }
    }

    /// Returns whether a cost limit can't be enforced because a price is not known.
    pub(super) fn has_unenforceable_cost_limit(&self) -> bool {
        self.limits.cost.is_some() && self.unpriced > 0
    }

    /// Returns the remaining time. `None` if there is no limit.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let seconds = self.limits.seconds?;
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(limit.saturating_sub(self.began.elapsed().saturating_sub(self.waited)))
    }

    /// Returns the failure for a limit that does not allow another request.
    pub(super) fn reached_limit(&self) -> Option<TurnFailure> {
        if let Some(rounds) = self.limits.rounds.filter(|most| self.rounds >= *most) {
            let times = if rounds == 1 { "once".to_owned() } else { format!("{rounds} times") };
            return Some(limit_failure(
                format!("the model was asked {times}, the maximum in one turn"),
                "rounds",
            ));
        }
        if let Some(most) = self.limits.cost.filter(|most| self.spent >= *most) {
            let currency = self.currency.as_deref().unwrap_or_default();
            let message = format!("the turn has cost {:.4} {currency}; the limit is {most}", self.spent);
            return Some(limit_failure(message, "cost"));
        }
        (self.time_left() == Some(Duration::ZERO)).then(|| self.time_limit_failure())
    }

    /// Returns the failure when the time is used up.
    pub(super) fn time_limit_failure(&self) -> TurnFailure {
        let seconds = self.limits.seconds.unwrap_or_default();
        limit_failure(format!("the turn has taken {seconds} s, the maximum"), "seconds")
    }
}

fn limit_failure(message: String, field: &str) -> TurnFailure {
    TurnFailure {
        code: TurnFailureCode::LimitReached,
        message,
        hint: Some(format!("send a message to continue; the limit is limits.{field} of the agent")),
    }
}

#[cfg(test)]
mod tests;
