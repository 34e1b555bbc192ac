//! Checks before each request that the turn may continue, and finds the model.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::TurnTask;
use super::flow::{TurnExit, TurnFlow, fail_turn};
use super::progress::TurnProgress;
use crate::budget::BudgetDecision;
use crate::event::{NoticeCode, TurnFailureCode};
use crate::models::{ModelLookupError, ModelRef};
use crate::name_suggestions;

impl TurnTask {
    /// Ends the turn if it was stopped, or reached a limit of its agent or a budget.
    pub(super) async fn check_limits(&self, progress: &mut TurnProgress) -> TurnFlow {
        if let Some(reason) = self.stop.reason() {
            return ControlFlow::Break(TurnExit::Stopped(reason));
        }
        if let Some(failure) = progress.meter.reached_limit() {
            return ControlFlow::Break(TurnExit::Failed(failure));
        }
        if progress.meter.has_unenforceable_cost_limit() && !progress.sent_notices.unpriced {
            progress.sent_notices.unpriced = true;
            let message =
                "the agent's limits.cost can't be enforced, because the price of its model is not known";
            self.notice(NoticeCode::Budget, message).await;
        }
        let currency = Arc::clone(self.deps.prices.table().currency());
        match self.deps.budgets.check(&self.principal.id.0, &currency).await {
            Ok(BudgetDecision::Allow) => {}
            Ok(BudgetDecision::Warn { message }) => {
                if !std::mem::replace(&mut progress.sent_notices.budget, true) {
                    self.notice(NoticeCode::Budget, &message).await;
                }
            }
            Ok(BudgetDecision::Stop { message, hint }) => {
                return fail_turn(TurnFailureCode::BudgetExceeded, message, Some(hint));
            }
            Err(error) => {
                let message = format!("today's spending can't be read: {error}");
                return fail_turn(TurnFailureCode::Internal, message, None);
            }
        }
        ControlFlow::Continue(())
    }

    /// Looks up the agent's model.
    pub(super) fn find_model(&self) -> TurnFlow<ModelRef> {
        match self.deps.models.get(self.agent.definition.model.as_deref()) {
            Ok(model) => ControlFlow::Continue(model),
            Err(no_model) => {
                let hint = match &no_model {
                    ModelLookupError::NoneConfigured => Some("add one with `toolway models add`".to_owned()),
                    ModelLookupError::Unknown { close, .. } => name_suggestions::did_you_mean(close)
                        .or_else(|| Some("`toolway models list` shows their names".to_owned())),
                    ModelLookupError::NoDefaultModel { name } => {
                        Some(format!("write {name}/ID, or set `model` for it"))
                    }
                };
                fail_turn(TurnFailureCode::NoModel, no_model.to_string(), hint)
            }
        }
    }
}
