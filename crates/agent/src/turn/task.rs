//! A turn, from the person's message to the end of the answer: the model is asked, the tools that it calls run, their
//! results go back to it, until it has said all it wants or something ends the turn. However it ends, what was said
//! is kept, and what is kept can be sent again.

mod compaction;

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_core::consent::QuestionSink;
use toolway_core::{Caller, EntryPoint};
use toolway_models::{
    FinishReason, MessagePart, MessageRole, ModelError, ModelErrorKind, ModelMessage, ModelOptions,
    ModelRequest, OutputSchema, ToolCall, ToolChoice, ToolDefinition, ToolResult,
};
use toolway_store::{ModelRequestRecord, NewMessage, StoreError, TurnEnding, TurnState};
use toolway_types::Principal;

use super::ConnectionRegistration;
use super::broadcast::TurnBroadcast;
use super::conversation_store::SessionHistory;
use super::deps::TurnDeps;
use super::meter::TurnMeter;
use super::model_response::{MAX_ANSWER, ModelResponse, ModelResponseEnd, TurnResponseReader};
use super::prompt;
use super::repeated_failures::{MAX_FAILING_ANSWERS, RepeatedFailures};
use super::request_attribution::{RequestAttribution, finish_code, token_counts};
use super::stop_signal::{StopReason, StopSignal};
use super::tool_calls::{ToolCallResults, ToolCallRunner, skipped_results};
use crate::agents::Agent;
use crate::budget::BudgetDecision;
use crate::context::TokenCounter;
use crate::conversation_settings::ConversationSettings;
use crate::event::{NoticeCode, TurnEnd, TurnEvent, TurnFailure, TurnFailureCode, TurnStatus};
use crate::models::{ModelLookupError, ModelRef};
use crate::name_suggestions;
use crate::selection::{SelectedTools, SelectionInput, ToolSelector};
use crate::transcript::{self, TranscriptEntry};
use compaction::CompactionInput;

/// How often a model's provider may pause in a row.
const MAX_PAUSES: u32 = 16;
/// How many answers in a row may be cut in the middle of all their calls.
const MAX_CUT_ANSWERS: u32 = 3;

/// How much of a conversation that was too long is sent instead, in tenths.
const SHRUNK_TENTHS: u64 = 6;

/// What a model is told once whose call its provider could not read.
const MALFORMED_CALL_PROMPT: &str = "[Your last answer held a tool call that could not be read, so nothing was called. Make the \
     call again, with arguments that are one valid JSON object, or answer in words.]";

/// A turn that runs.
pub(crate) struct TurnTask {
    pub(crate) deps: Arc<TurnDeps>,
    pub(crate) id: Arc<str>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) agent: Arc<Agent>,
    pub(crate) registration: ConnectionRegistration,
    pub(crate) questions: Option<QuestionSink>,
    pub(crate) debug: bool,
    pub(crate) broadcast: Arc<TurnBroadcast>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) settings: Arc<ConversationSettings>,
    /// Where what is said is kept.
    pub(crate) target: HistoryTarget,
    /// What the caller adds to what the agent says.
    pub(crate) overrides: RequestOverrides,
    /// The conversation.
    pub(crate) history: SessionHistory,
}

/// Where what is said in a turn is kept.
#[derive(Debug, Clone)]
pub(crate) enum HistoryTarget {
    /// In a session, as the message of this number.
    Session {
        /// The session.
        id: Arc<str>,
        /// The number that the next message will have.
        next: u64,
    },
    /// Nowhere.
    Ephemeral,
}

/// What a caller adds to what its agent says.
#[derive(Debug, Default)]
pub(crate) struct RequestOverrides {
    /// Instructions after the agent's own.
    pub(crate) system: Vec<String>,
    /// Tools that the caller runs itself.
    pub(crate) tools: Vec<Arc<ToolDefinition>>,
    /// Whether the model must call one, in its first answer.
    pub(crate) tool_choice: ToolChoice,
    /// The form of the answer.
    pub(crate) output: Option<OutputSchema>,
    /// What it wants otherwise.
    pub(crate) options: ModelOptions,
}

/// A turn that is over, and what was said in it.
#[derive(Debug)]
pub(crate) struct CompletedTurn {
    /// What whoever watches is told.
    pub(crate) end: TurnEnd,
    /// What was said in the turn after the messages that it began with.
    pub(crate) messages: Vec<ModelMessage>,
}

/// How a turn comes to its end.
enum TurnExit {
    Done,
    /// It waits for calls that only the caller can make.
    ClientCalls(Vec<ToolCall>),
    Stopped(StopReason),
    Failed(TurnFailure),
}

/// Goes on with the next request, or is over.
type TurnFlow<T = ()> = ControlFlow<TurnExit, T>;

/// What changes while a turn runs.
struct TurnProgress {
    selector: ToolSelector,
    repeated_failures: Mutex<RepeatedFailures>,
    meter: TurnMeter,
    /// What was said and is yet to be kept, with the requests that it came from.
    unsaved_messages: Vec<NewMessage>,
    unsaved_requests: Vec<ModelRequestRecord>,
    /// What the model is told once besides the conversation.
    one_time_prompt: Option<ModelMessage>,
    finish: Option<FinishReason>,
    /// Learns from each request how many tokens texts take.
    counter: TokenCounter,
    /// How many tokens the last request was thought to take.
    estimated: u64,
    /// What the model must be able to read less than, since its provider found more to be too long.
    shrunk_to: Option<u64>,
    pauses: u32,
    cut_answers: u32,
    has_sent_malformed_prompt: bool,
    sent_notices: SentNotices,
}

/// What was said once and is not said again.
#[derive(Default)]
struct SentNotices {
    tools_left_out: bool,
    unpriced: bool,
    budget: bool,
    nearly_full: bool,
    compacted: Option<String>,
}

impl TurnTask {
    /// Runs the turn to its end. Where something was said, it is kept when this returns.
    pub(crate) async fn run(mut self) -> CompletedTurn {
        let mut state = TurnProgress {
            selector: ToolSelector::new(Arc::clone(&self.deps.definition_cache)),
            repeated_failures: Mutex::default(),
            meter: TurnMeter::new(self.agent.definition.limits),
            unsaved_messages: Vec::new(),
            unsaved_requests: Vec::new(),
            one_time_prompt: None,
            finish: None,
            counter: TokenCounter::default(),
            estimated: 0,
            shrunk_to: None,
            pauses: 0,
            cut_answers: 0,
            has_sent_malformed_prompt: false,
            sent_notices: SentNotices::default(),
        };
        for entry in &self.history.entries {
            state.selector.recent().record_message(&entry.message);
        }
        let before = self.history.entries.len();
        let over = loop {
            if let ControlFlow::Break(over) = self.run_round(&mut state).await {
                break over;
            }
        };
        let end = self.end(state, over).await;
        let said = self.history.entries.into_iter().skip(before).map(|entry| entry.message);
        CompletedTurn { end, messages: said.collect() }
    }

    /// One request and what comes of it.
    async fn run_round(&mut self, state: &mut TurnProgress) -> TurnFlow {
        self.check_limits(state).await?;
        let model = self.model()?;
        let request = Arc::new(self.request(state, &model).await?);
        if self.debug {
            self.publish(TurnEvent::DebugPrompt(prompt::debug_messages(&request))).await;
        }
        state.one_time_prompt = None;
        // The results of the last calls are kept while the model reads them; the records of the calls have them too.
        let (unkept, requests) =
            (std::mem::take(&mut state.unsaved_messages), std::mem::take(&mut state.unsaved_requests));
        if let HistoryTarget::Session { next, .. } = &mut self.target {
            *next += unkept.len() as u64;
        }
        let (kept, answer) =
            tokio::join!(self.save_messages(unkept, requests), self.ask(state, &model, request));
        self.handle_saved(kept)?;
        self.process_response(state, answer).await
    }

    /// Whether the model may be asked once more.
    async fn check_limits(&self, state: &mut TurnProgress) -> TurnFlow {
        if let Some(reason) = self.stop.reason() {
            return ControlFlow::Break(TurnExit::Stopped(reason));
        }
        if let Some(failure) = state.meter.reached_limit() {
            return ControlFlow::Break(TurnExit::Failed(failure));
        }
        if state.meter.has_unenforceable_cost_limit() && !state.sent_notices.unpriced {
            state.sent_notices.unpriced = true;
            let message = "the agent's limits.cost can't be kept, since the price of its model is not known";
            self.notice(NoticeCode::Budget, message).await;
        }
        let currency = Arc::clone(self.deps.prices.table().currency());
        match self.deps.budgets.check(&self.principal.id.0, &currency).await {
            Ok(BudgetDecision::Allow) => {}
            Ok(BudgetDecision::Warn { message }) => {
                if !std::mem::replace(&mut state.sent_notices.budget, true) {
                    self.notice(NoticeCode::Budget, &message).await;
                }
            }
            Ok(BudgetDecision::Stop { message, hint }) => {
                return fail_turn(TurnFailureCode::BudgetExceeded, message, Some(hint));
            }
            Err(error) => {
                let message = format!("what was spent today can't be read: {error}");
                return fail_turn(TurnFailureCode::Internal, message, None);
            }
        }
        ControlFlow::Continue(())
    }

    fn model(&self) -> TurnFlow<ModelRef> {
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

    /// What the model is asked next, with the tools that there are now.
    async fn request(&mut self, state: &mut TurnProgress, model: &ModelRef) -> TurnFlow<ModelRequest> {
        let is_first = state.meter.rounds == 0;
        state.counter = self.deps.counters.get(&model.name());
        let selected = state.selector.select(&SelectionInput {
            engine: &self.deps.engine,
            caller: &self.caller(),
            agent: &self.agent,
            model,
            max_tools: self.settings.max_tools,
            client_tools: &self.overrides.tools,
        });
        self.publish_tools_left_out(state, &selected);
        let system = prompt::system_prompt(&self.agent.definition.prompt, &self.overrides.system);
        let options = prompt::merge_options(&self.agent.definition.options, &self.overrides.options);
        let fitting = CompactionInput {
            model,
            system_bytes: system.len(),
            tools_bytes: prompt::tools_bytes(&selected.tools),
            max_output: options.max_output_tokens,
        };
        let mut messages = self.fit_messages(state, &fitting).await?;
        messages.extend(state.one_time_prompt.clone());
        let tool_choice = match &self.overrides.tool_choice {
            // Whoever must call a tool has done so once there are results.
            ToolChoice::Required | ToolChoice::Tool(_) if !is_first => ToolChoice::Auto,
            choice => choice.clone(),
        };
        ControlFlow::Continue(ModelRequest {
            model: Arc::clone(&model.id),
            system,
            messages,
            tools: selected.tools,
            tool_choice,
            output: self.overrides.output.clone(),
            options,
        })
    }

    /// Who calls, as things are now.
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
            ..Caller::new(Arc::clone(&self.principal), EntryPoint::Agent)
        }
    }

    fn publish_tools_left_out(&self, state: &mut TurnProgress, selected: &SelectedTools) {
        let is_lost = selected.omitted > 0 && !selected.can_find;
        if state.sent_notices.tools_left_out || (selected.not_expressible.is_empty() && !is_lost) {
            return;
        }
        state.sent_notices.tools_left_out = true;
        let mut words = Vec::new();
        for (name, why) in selected.not_expressible.iter() {
            words.push(format!("the tool {name} can't be described to this model: {why}"));
        }
        if is_lost {
            let many = selected.omitted;
            words.push(format!(
                "{many} tools are more than the model is told of, and find_tools is not there to find them"
            ));
        }
        self.broadcast
            .publish(TurnEvent::Notice { code: NoticeCode::ToolsLeftOut, message: words.join("; ") });
    }

    /// In whose name models are asked.
    fn attribution(&self) -> RequestAttribution {
        let (session, turn) = match &self.target {
            HistoryTarget::Session { id, .. } => (Some(Arc::clone(id)), Some(Arc::clone(&self.id))),
            HistoryTarget::Ephemeral => (None, None),
        };
        let agent = self.agent.definition.name.as_str().into();
        RequestAttribution { principal: Arc::clone(&self.principal), agent, session, turn }
    }

    async fn ask(
        &self,
        state: &mut TurnProgress,
        model: &ModelRef,
        request: Arc<ModelRequest>,
    ) -> ModelResponse {
        let started_ms = self.deps.clock.now_ms();
        let draft = |text: String| {
            if let HistoryTarget::Session { next, .. } = &self.target {
                self.deps.store.draft(&self.id, *next, text);
            }
        };
        let until = state.meter.time_left().map(|left| tokio::time::Instant::now() + left);
        let listener = TurnResponseReader {
            broadcast: &self.broadcast,
            stop: &self.stop,
            deadline: until,
            draft: &draft,
        };
        let answer = listener.read_response(model.provider.stream(request)).await;
        let (record, cost) = self.attribution().request_record(&self.deps, model, started_ms, &answer);
        let usage = answer.collected.usage;
        state.meter.rounds += 1;
        state.meter.add(usage, cost.as_ref(), matches!(answer.end, ModelResponseEnd::Complete));
        if let Some(input) = usage.input {
            state.counter.calibrate(state.estimated, input);
            self.deps.counters.update(model.name(), &state.counter);
        }
        state.unsaved_requests.push(record);
        answer
    }

    /// Takes an answer into the conversation, and makes the calls that it has.
    async fn process_response(&mut self, state: &mut TurnProgress, answer: ModelResponse) -> TurnFlow {
        let ModelResponse { collected, end: ended, .. } = answer;
        let is_whole = matches!(ended, ModelResponseEnd::Complete);
        let calls: Vec<ToolCall> = collected.parts.iter().filter_map(as_call).cloned().collect();
        let text: bool =
            collected.parts.iter().any(|part| part.as_text().is_some_and(|it| !it.trim().is_empty()));
        state.finish = collected.finish.clone();
        if let ModelResponseEnd::Failed(error) = &ended
            && error.kind == ModelErrorKind::ContextTooLong
            && collected.parts.is_empty()
            && state.shrunk_to.is_none()
        {
            state.shrunk_to = Some(state.estimated / 10 * SHRUNK_TENTHS);
            return self.save(state).await;
        }
        if !collected.parts.is_empty() {
            self.append_message(
                state,
                ModelMessage { role: MessageRole::Assistant, parts: collected.parts },
                !is_whole,
            );
        }
        let over = match ended {
            ModelResponseEnd::Complete => None,
            ModelResponseEnd::Failed(error) => Some(TurnExit::Failed(failure_from_model_error(&error, text))),
            ModelResponseEnd::Interrupted => Some(TurnExit::Failed(interrupted_failure(text))),
            ModelResponseEnd::TooLong => Some(TurnExit::Failed(TurnFailure {
                code: TurnFailureCode::LimitReached,
                message: format!(
                    "the answer is longer than {} MiB; what came until then is kept",
                    MAX_ANSWER >> 20
                ),
                hint: Some("ask for less at a time".to_owned()),
            })),
            ModelResponseEnd::Stopped(reason) => Some(TurnExit::Stopped(reason)),
            ModelResponseEnd::TimedOut => Some(TurnExit::Failed(state.meter.time_limit_failure())),
        };
        if let Some(over) = over {
            self.skip_calls(state, &calls, "the answer that it stands in broke off");
            return ControlFlow::Break(over);
        }
        match collected.finish {
            Some(FinishReason::Refused) => {
                self.skip_calls(state, &calls, "the model's provider stopped the answer");
                return self.end_refused_response(text).await;
            }
            _ if !calls.is_empty() => return self.make_calls(state, calls, text).await,
            Some(FinishReason::Paused) => {
                state.pauses += 1;
                if state.pauses < MAX_PAUSES {
                    return self.save(state).await;
                }
                let message = format!("the model's provider paused the answer {MAX_PAUSES} times in a row");
                return fail_turn(TurnFailureCode::Provider, message, None);
            }
            Some(FinishReason::MalformedToolCall)
                if !std::mem::replace(&mut state.has_sent_malformed_prompt, true) =>
            {
                state.one_time_prompt = Some(ModelMessage::user(MALFORMED_CALL_PROMPT));
                return self.save(state).await;
            }
            Some(FinishReason::MalformedToolCall) => {
                let message = "the model called a tool twice in a form that its provider could not read";
                let hint = "ask again, or choose another model";
                return fail_turn(TurnFailureCode::Provider, message, Some(hint.to_owned()));
            }
            Some(FinishReason::ContextExceeded) if !text => {
                let message = "the conversation is as long as the model can read, so it could not answer";
                let hint = "start a new session, or say less at a time";
                return fail_turn(TurnFailureCode::ContextTooLong, message, Some(hint.to_owned()));
            }
            Some(FinishReason::ContextExceeded) => {
                let message = "the answer ends here, since the conversation is as long as the model can read";
                self.notice(NoticeCode::Truncated, message).await;
            }
            Some(FinishReason::Length) => {
                let message = "the answer ends at the most tokens that the model may write \
                     (options.max_output_tokens of the agent, or the model's own limit)";
                self.notice(NoticeCode::Truncated, message).await;
            }
            _ if !text => {
                self.notice(NoticeCode::Empty, "the model ended its answer without saying anything").await;
            }
            _ => {}
        }
        ControlFlow::Break(TurnExit::Done)
    }

    async fn end_refused_response(&self, has_text: bool) -> TurnFlow {
        let message = "the model, or its provider's filter, refused to go on";
        if !has_text {
            return fail_turn(TurnFailureCode::Provider, message, Some("say it in another way".to_owned()));
        }
        self.notice(NoticeCode::Refused, message).await;
        ControlFlow::Break(TurnExit::Done)
    }

    /// Makes the calls of an answer: once it is kept where it has text, which is nowhere else; else while it is being
    /// kept, since the records of calls have them too. Calls of the caller's own tools end the turn.
    async fn make_calls(
        &mut self,
        state: &mut TurnProgress,
        calls: Vec<ToolCall>,
        has_text: bool,
    ) -> TurnFlow {
        state.pauses = 0;
        let is_clients = |call: &ToolCall| self.overrides.tools.iter().any(|tool| tool.name == call.name);
        let (for_client, ours): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| is_clients(call) && !call.is_cut);
        state.meter.calls = state.meter.calls.saturating_add(u32::try_from(ours.len()).unwrap_or(u32::MAX));
        let calling = ToolCallRunner {
            engine: &self.deps.engine,
            caller: self.caller(),
            questions: self.questions.clone(),
            time_left: state.meter.time_left(),
            broadcast: &self.broadcast,
            stop: &self.stop,
            repeated_failures: &state.repeated_failures,
        };
        state.repeated_failures.lock().next_answer();
        let unkept = std::mem::take(&mut state.unsaved_messages);
        let requests = std::mem::take(&mut state.unsaved_requests);
        let keeping = self.save_messages(unkept, requests);
        let (kept, called) = if has_text {
            (keeping.await, calling.run(&ours).await)
        } else {
            tokio::join!(keeping, calling.run(&ours))
        };
        self.handle_saved(kept)?;
        let ToolCallResults { results, waited } = called;
        state.meter.add_waiting(waited);
        let all_cut = for_client.is_empty() && ours.iter().all(|call| call.is_cut);
        state.cut_answers = if all_cut { state.cut_answers + 1 } else { 0 };
        let message = tool_message(results);
        if let Some(asked) = self.history.entries.last() {
            state.selector.recent().record_message(&asked.message);
        }
        if let Some(message) = message {
            state.selector.recent().record_message(&message);
            self.append_message(state, message, false);
        }
        self.wait_for_viewers().await;
        if let Some(reason) = self.stop.reason() {
            self.skip_calls(state, &for_client, "the turn was ended");
            return ControlFlow::Break(TurnExit::Stopped(reason));
        }
        if !for_client.is_empty() {
            return ControlFlow::Break(TurnExit::ClientCalls(for_client));
        }
        if let Some(tool) = state.repeated_failures.lock().tool_to_give_up() {
            let message = format!(
                "the model made the same call of {tool} in {MAX_FAILING_ANSWERS} answers, and it failed each time"
            );
            let hint = "ask in another way, or choose another model";
            return fail_turn(TurnFailureCode::LimitReached, message, Some(hint.to_owned()));
        }
        if state.cut_answers >= MAX_CUT_ANSWERS {
            let message = format!("{MAX_CUT_ANSWERS} answers in a row ended in the middle of their calls");
            let hint = "raise options.max_output_tokens of the agent, or ask for less at a time";
            return fail_turn(TurnFailureCode::LimitReached, message, Some(hint.to_owned()));
        }
        ControlFlow::Continue(())
    }

    /// Gives calls that are not made their results, so that the conversation can be sent again.
    fn skip_calls(&mut self, state: &mut TurnProgress, calls: &[ToolCall], why: &str) {
        if let Some(message) = tool_message(skipped_results(calls.iter(), why)) {
            self.append_message(state, message, false);
        }
    }

    /// Takes a message into the conversation; it is yet to be kept.
    fn append_message(&mut self, state: &mut TurnProgress, message: ModelMessage, is_cut: bool) {
        if matches!(self.target, HistoryTarget::Session { .. }) {
            state.unsaved_messages.push(transcript::stored_message(&message, is_cut));
        }
        let seq = self.history.entries.last().map_or(1, |last| last.seq + 1);
        self.history.entries.push(TranscriptEntry {
            seq,
            turn: self.id.to_string(),
            message,
            is_cut,
            created_ms: self.deps.clock.now_ms(),
            summary_through: None,
        });
    }

    /// Keeps what is yet to be kept, before the model is asked again.
    async fn save(&mut self, state: &mut TurnProgress) -> TurnFlow {
        let kept = self
            .save_messages(
                std::mem::take(&mut state.unsaved_messages),
                std::mem::take(&mut state.unsaved_requests),
            )
            .await;
        self.handle_saved(kept)
    }

    async fn save_messages(
        &self,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
    ) -> Result<Option<u64>, StoreError> {
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

    fn handle_saved(&mut self, kept: Result<Option<u64>, StoreError>) -> TurnFlow {
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
                let message = format!("what was said could not be kept: {error}");
                return fail_turn(TurnFailureCode::Internal, message, None);
            }
        }
        ControlFlow::Continue(())
    }

    async fn notice(&self, code: NoticeCode, message: &str) {
        self.publish(TurnEvent::Notice { code, message: message.to_owned() }).await;
    }

    /// Tells everybody, and waits for those who are behind unless the turn is to end.
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

    /// Ends the turn where it is kept, and says how it ended.
    async fn end(&mut self, state: TurnProgress, over: TurnExit) -> TurnEnd {
        let TurnProgress { meter, unsaved_messages: unkept, unsaved_requests: requests, finish, .. } = state;
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
            HistoryTarget::Ephemeral => self.save_messages(Vec::new(), requests).await.map(drop),
            HistoryTarget::Session { .. } => {
                let ending = self.ending(&end, unkept, requests);
                self.deps.store.end(ending).await.map(drop)
            }
        };
        match kept {
            Ok(()) | Err(StoreError::Missing { .. }) => {}
            Err(error) => {
                tracing::error!(turn = &*self.id, "the end of a turn was not kept: {error}");
                if matches!(self.target, HistoryTarget::Session { .. }) && end.status == TurnStatus::Done {
                    end.status = TurnStatus::Failed(TurnFailure {
                        code: TurnFailureCode::Internal,
                        message: format!("what was said could not be kept: {error}"),
                        hint: None,
                    });
                }
            }
        }
        end
    }

    fn ending(
        &self,
        end: &TurnEnd,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
    ) -> TurnEnding {
        let (state, failure) = match &end.status {
            TurnStatus::Done => (TurnState::Done, None),
            TurnStatus::Aborted => (TurnState::Aborted, None),
            TurnStatus::Failed(failure) => (TurnState::Failed, Some(failure)),
        };
        TurnEnding {
            turn: self.id.to_string(),
            state,
            ended_ms: self.deps.clock.now_ms(),
            messages,
            requests,
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

/// The results of an answer's calls as one message; none where there are none.
fn tool_message(results: Vec<ToolResult>) -> Option<ModelMessage> {
    if results.is_empty() {
        return None;
    }
    Some(ModelMessage {
        role: MessageRole::Tool,
        parts: results.into_iter().map(MessagePart::ToolResult).collect(),
    })
}

fn as_call(part: &MessagePart) -> Option<&ToolCall> {
    match part {
        MessagePart::ToolCall(call) => Some(call),
        _ => None,
    }
}

fn fail_turn<T>(code: TurnFailureCode, message: impl Into<String>, hint: Option<String>) -> TurnFlow<T> {
    ControlFlow::Break(TurnExit::Failed(TurnFailure { code, message: message.into(), hint }))
}

/// What a model provider's failure is to whoever waits for the answer.
fn failure_from_model_error(error: &ModelError, has_text: bool) -> TurnFailure {
    let code = match error.kind {
        ModelErrorKind::Auth => TurnFailureCode::Auth,
        ModelErrorKind::ContextTooLong => TurnFailureCode::ContextTooLong,
        _ => TurnFailureCode::Provider,
    };
    let message = match has_text {
        true => format!("the answer broke off: {error}"),
        false => error.to_string(),
    };
    TurnFailure { code, message, hint: error.hint.clone() }
}

fn interrupted_failure(has_text: bool) -> TurnFailure {
    let message = match has_text {
        true => "the answer broke off before it was whole",
        false => "the model's provider closed the connection without an answer",
    };
    TurnFailure { code: TurnFailureCode::Provider, message: message.to_owned(), hint: None }
}

pub(crate) fn shutdown_failure() -> TurnFailure {
    TurnFailure {
        code: TurnFailureCode::ShuttingDown,
        message: "the gateway is shutting down".to_owned(),
        hint: Some("what was said is kept; go on when it is back".to_owned()),
    }
}
