//! A turn, from the person's message to the end of the answer. The turn repeats these phases until one of them ends it:
//!
//! 1. `limits` checks whether the turn may go on, and finds the model.
//! 2. `tools` chooses the tools.
//! 3. `history` prepares the messages so that they fit the model.
//! 4. `model_call` asks the model and reads the response.
//! 5. `response` adds the response to the conversation and decides what follows.
//! 6. `call_round` runs the tool calls.
//!
//! `end` stores the end. However a turn ends, its messages are kept and can be sent again.

mod call_round;
mod end;
mod flow;
mod history;
mod limits;
mod model_call;
mod persistence;
mod progress;
mod response;
mod secrets;
mod tools;

use std::ops::ControlFlow;
use std::sync::Arc;

use toolway_core::consent::QuestionSink;
use toolway_core::{Caller, EntryPoint};
use toolway_models::{ModelMessage, ModelOptions, OutputSchema, ToolChoice, ToolDefinition};
use toolway_types::Principal;

use super::ConnectionRegistration;
use super::broadcast::TurnBroadcast;
use super::conversation_store::SessionHistory;
use super::deps::TurnDeps;
use super::prompt;
use super::request_attribution::RequestAttribution;
use super::stop_signal::StopSignal;
use crate::agents::Agent;
use crate::conversation_settings::ConversationSettings;
use crate::event::{NoticeCode, TurnEnd, TurnEvent};
use crate::selection;
use flow::TurnFlow;
use progress::TurnProgress;
use response::AfterResponse;

/// A running turn.
pub(crate) struct TurnTask {
    pub(crate) deps: Arc<TurnDeps>,
    pub(crate) id: Arc<str>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) agent: Arc<Agent>,
    pub(crate) registration: ConnectionRegistration,
    pub(crate) questions: Option<QuestionSink>,
    pub(crate) debug: bool,
    /// Time zone of the person, if known.
    pub(crate) time_zone: Option<Arc<str>>,
    pub(crate) broadcast: Arc<TurnBroadcast>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) settings: Arc<ConversationSettings>,
    /// The place where messages are stored.
    pub(crate) target: HistoryTarget,
    /// The caller's additions to the agent.
    pub(crate) overrides: RequestOverrides,
    /// The conversation.
    pub(crate) history: SessionHistory,
}

/// The place where a turn stores its messages.
#[derive(Debug, Clone)]
pub(crate) enum HistoryTarget {
    /// A session.
    Session {
        /// Id of the session.
        id: Arc<str>,
        /// The number that the next message will have.
        next: u64,
    },
    /// Nowhere.
    Ephemeral,
}

/// A caller's additions to its agent.
#[derive(Debug, Default)]
pub(crate) struct RequestOverrides {
    /// Instructions after the agent's own.
    pub(crate) system: Vec<String>,
    /// Tools that the caller runs itself.
    pub(crate) tools: Vec<Arc<ToolDefinition>>,
    /// Setting for whether the first response must call a tool.
    pub(crate) tool_choice: ToolChoice,
    /// The form of the answer.
    pub(crate) output: Option<OutputSchema>,
    /// Options that override the agent's.
    pub(crate) options: ModelOptions,
}

/// A turn that has ended.
#[derive(Debug)]
pub(crate) struct CompletedTurn {
    /// The result, as viewers get it.
    pub(crate) end: TurnEnd,
    /// Messages of the turn, without those that it began with.
    pub(crate) messages: Vec<ModelMessage>,
}

impl TurnTask {
    /// Runs the turn to its end. All its messages are stored when this returns.
    pub(crate) async fn run(mut self) -> CompletedTurn {
        let mut progress = TurnProgress::new(Arc::clone(&self.deps.definition_cache), &self.agent);
        for entry in &self.history.entries {
            progress.selector.recent().record_names(&entry.summarized_tools);
            progress.selector.recent().record_message(&entry.message);
        }
        progress.selector.set_query(selection::conversation_query(&self.history.entries));
        let before = self.history.entries.len();
        let exit = loop {
            if let ControlFlow::Break(exit) = self.run_round(&mut progress).await {
                break exit;
            }
        };
        let end = self.end(progress, exit).await;
        let added = self.history.entries.into_iter().skip(before).map(|entry| entry.message);
        CompletedTurn { end, messages: added.collect() }
    }

    /// One request, its response, and the calls of the response.
    async fn run_round(&mut self, progress: &mut TurnProgress) -> TurnFlow {
        self.check_limits(progress).await?;
        let model = self.find_model()?;
        let tools = self.choose_tools(progress, &model);
        let history = self.prepare_history(progress, &model, &tools).await?;
        let request = Arc::new(self.build_request(progress, &model, tools, history));
        if self.debug {
            self.publish(TurnEvent::DebugPrompt(prompt::debug_messages(&request))).await;
        }
        // The results of the last calls are stored while the model reads them. The records of the calls contain them
        // too, so a crash in between loses nothing.
        let unsaved = std::mem::take(&mut progress.unsaved);
        if let HistoryTarget::Session { next, .. } = &mut self.target {
            *next += unsaved.messages.len() as u64;
        }
        let (saved, response) =
            tokio::join!(self.save_records(unsaved), self.ask_model(progress, &model, Arc::clone(&request)));
        self.handle_saved(saved)?;
        match self.process_response(progress, response, &model, &request).await? {
            AfterResponse::AskAgain => ControlFlow::Continue(()),
            AfterResponse::MakeCalls(calls) => self.make_calls(progress, calls).await,
        }
    }

    /// The caller of tools, with the connection's current registration.
    fn caller(&self) -> Caller {
        let session = match &self.target {
            HistoryTarget::Session { id, .. } => Some(Arc::clone(id)),
            HistoryTarget::Ephemeral => None,
        };
        Caller {
            agent: Some(self.agent.definition.name.as_str().into()),
            session,
            turn: Some(Arc::clone(&self.id)),
            registration: self.registration.current(),
            time_zone: self.time_zone.clone(),
            ..Caller::new(Arc::clone(&self.principal), EntryPoint::Agent)
        }
    }

    /// The principal, agent, session and turn that requests are recorded for.
    fn attribution(&self) -> RequestAttribution {
        let (session, turn) = match &self.target {
            HistoryTarget::Session { id, .. } => (Some(Arc::clone(id)), Some(Arc::clone(&self.id))),
            HistoryTarget::Ephemeral => (None, None),
        };
        let agent = self.agent.definition.name.as_str().into();
        RequestAttribution { principal: Arc::clone(&self.principal), agent, session, turn }
    }

    async fn notice(&self, code: NoticeCode, message: &str) {
        self.publish(TurnEvent::Notice { code, message: message.to_owned() }).await;
    }

    /// Publishes an event, and waits for slow viewers unless the turn is to end.
    async fn publish(&self, event: TurnEvent) {
        if self.broadcast.publish(event) {
            self.wait_for_viewers().await;
        }
    }

    async fn wait_for_viewers(&self) {
        tokio::select! {
            biased;
            () = self.stop.token().cancelled() => {}
            () = self.broadcast.wait_for_viewers() => {}
        }
    }
}
