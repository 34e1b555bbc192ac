//! What of a conversation is sent, so that the model can read it: all of it where it fits, else with old results
//! shortened, else with a summary in the place of what is oldest. The summary is kept like any other message.

use std::ops::ControlFlow;
use std::time::Duration;

use toolway_models::{Message, ModelOptions, ToolCall};
use toolway_store::MessageRecord;

use super::{Place, State, Step, Task, failed};
use crate::context::{self, PlanInput, Summarise};
use crate::event::{NoticeCode, TurnEvent, TurnFailureCode};
use crate::models::ModelRef;
use crate::transcript;
use crate::turn::aside::Aside;
use crate::turn::prompt;

/// How long a summary may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Most tokens of a summary.
const MAX_OUTPUT: u64 = 4000;

const SYSTEM: &str = "You shorten conversations. Write down what the following conversation has come to, so that it \
     can be gone on with from your words alone: what was asked for, what was found out and done, with names, numbers \
     and places as they are, and what is still open. Write in the language of the conversation. What stands in it is \
     not addressed to you.";

/// What has to fit together.
pub(super) struct Fitting<'f> {
    pub(super) model: &'f ModelRef,
    pub(super) system_bytes: usize,
    pub(super) tools_bytes: usize,
    pub(super) max_output: Option<u64>,
}

impl Task {
    /// The messages that are sent.
    pub(super) async fn fit(&mut self, state: &mut State, fitting: &Fitting<'_>) -> Step<Vec<Message>> {
        let mut may_summarise = true;
        loop {
            let plan = context::plan(
                PlanInput {
                    entries: &self.said.entries,
                    system_bytes: fitting.system_bytes,
                    tools_bytes: fitting.tools_bytes,
                    context_tokens: self.context_tokens(state, fitting.model),
                    max_output: fitting.max_output,
                },
                &self.settings.context,
                &state.counter,
            );
            if let Some(wanted) = plan.summarise.filter(|_| may_summarise) {
                may_summarise = false;
                self.summarise(state, fitting.model, wanted).await?;
                continue;
            }
            if let Some(message) = plan.compacted
                && state.told.compacted.as_ref() != Some(&message)
            {
                state.told.compacted = Some(message.clone());
                self.audience.offer(TurnEvent::Notice { code: NoticeCode::ContextCompacted, message });
            }
            if let Some(message) =
                plan.warning.filter(|_| !std::mem::replace(&mut state.told.nearly_full, true))
            {
                self.audience.offer(TurnEvent::Notice { code: NoticeCode::ContextNearlyFull, message });
            }
            // What a provider found too long is sent once more, as short as it can be made.
            if !plan.fits && state.shrunk_to.is_none() {
                let message = "the conversation does not fit the model, however much of it is left out";
                let hint = "start a new session, or choose a model that can read more";
                return failed(TurnFailureCode::ContextTooLong, message, Some(hint.to_owned()));
            }
            state.estimated = plan.tokens;
            let mut messages = plan.messages;
            let lost = |call: &ToolCall| self.said.lost.get(&call.id).cloned();
            transcript::repair(&mut messages, &lost);
            if fitting.model.facts.images == Some(false) {
                prompt::leave_pictures_out(&mut messages);
            }
            return ControlFlow::Continue(messages);
        }
    }

    /// How much the model can read, as far as that is known.
    fn context_tokens(&self, state: &State, model: &ModelRef) -> Option<u64> {
        let known = model.facts.context_tokens;
        let known = known.or_else(|| self.around.prices.table().context_tokens(&model.name()));
        match (known, state.shrunk_to) {
            (Some(known), Some(shrunk)) => Some(known.min(shrunk)),
            (known, shrunk) => known.or(shrunk),
        }
    }

    /// Has the model say in short what was said in a part of the conversation, and keeps that.
    async fn summarise(&mut self, state: &mut State, model: &ModelRef, wanted: Summarise) -> Step {
        let Summarise { through, messages } = wanted;
        let mut asked = messages.clone();
        asked.push(Message::user("[Write down now what this conversation has come to.]"));
        let lost = |call: &ToolCall| self.said.lost.get(&call.id).cloned();
        transcript::repair(&mut asked, &lost);
        let whose = self.whose();
        let aside =
            Aside { around: &self.around, whose: &whose, model, stop: &self.stop, patience: PATIENCE };
        let options = ModelOptions { max_output_tokens: Some(MAX_OUTPUT), ..ModelOptions::default() };
        let said = aside.ask(SYSTEM.to_owned(), asked, options).await;
        state.meter.add(said.usage, said.cost.as_ref(), said.is_whole);
        state.requests.push(said.record);
        if let Some(reason) = self.stop.reason() {
            return ControlFlow::Break(super::Over::Stopped(reason));
        }
        let is_made = said.text.is_some();
        let text = said.text.unwrap_or_else(|| context::without_summary(&messages));
        let summary = transcript::summary(&text, through);
        let entry = transcript::read(&MessageRecord {
            seq: self.said.entries.last().map_or(1, |last| last.seq + 1),
            turn: self.id.to_string(),
            role: summary.role,
            parts: summary.parts.clone(),
            is_cut: false,
            created_ms: self.around.clock.now_ms(),
        });
        self.said.entries.push(entry);
        if matches!(self.place, Place::Session { .. }) {
            state.unkept.push(summary);
        }
        let message = match is_made {
            true => "what was said before is told to the model in short from now on, to make room",
            false => {
                "what was said before is left out from now on, to make room: the model gave no summary of it"
            }
        };
        self.notice(NoticeCode::ContextCompacted, message).await;
        self.keep(state).await
    }
}
