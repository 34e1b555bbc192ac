//! A turn, from the person's message to the end of the answer: the model is asked, the tools that it calls run, their
//! results go back to it, until it has said all it wants or something ends the turn. However it ends, what was said
//! is kept, and what is kept can be sent again.

mod fit;

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_core::consent::QuestionSink;
use toolway_core::{Caller, Door};
use toolway_models::{
    FinishReason, Message, MessageRole, ModelError, ModelErrorKind, ModelOptions, ModelRequest, OutputSchema,
    Part, ToolCall, ToolChoice, ToolDefinition, ToolResult,
};
use toolway_store::{ModelRequestRecord, NewMessage, StoreError, TurnEnding, TurnState};
use toolway_types::Principal;

use super::OwnRegistration;
use super::account::{Whose, finish_word, tokens};
use super::answer::{Answer, AnswerEnd, Listener, MAX_ANSWER};
use super::audience::Audience;
use super::calls::{Called, Calling, not_made};
use super::keeper::Loaded;
use super::meter::Meter;
use super::prompt;
use super::repeats::{GIVE_UP, Repeats};
use super::stop::{Stop, StopReason};
use super::surroundings::Surroundings;
use crate::agents::Agent;
use crate::budget::BudgetDecision;
use crate::context::Counter;
use crate::conversations::ConversationSettings;
use crate::event::{NoticeCode, TurnEnd, TurnEvent, TurnFailure, TurnFailureCode, TurnStatus};
use crate::models::{ModelRef, NoModel};
use crate::names;
use crate::selection::{Choice, Selected, Selector};
use crate::transcript::{self, Entry};
use fit::Fitting;

/// How often a model's provider may pause in a row.
const PAUSES: u32 = 16;
/// How many answers in a row may be cut in the middle of all their calls.
const CUT_ANSWERS: u32 = 3;

/// How much of a conversation that was too long is sent instead, in tenths.
const SHRUNK_TENTHS: u64 = 6;

/// What a model is told once whose call its provider could not read.
const MALFORMED: &str = "[Your last answer held a tool call that could not be read, so nothing was called. Make the \
     call again, with arguments that are one valid JSON object, or answer in words.]";

/// A turn that runs.
pub(crate) struct Task {
    pub(crate) around: Arc<Surroundings>,
    pub(crate) id: Arc<str>,
    pub(crate) principal: Arc<Principal>,
    pub(crate) agent: Arc<Agent>,
    pub(crate) own: OwnRegistration,
    pub(crate) questions: Option<QuestionSink>,
    pub(crate) debug: bool,
    pub(crate) audience: Arc<Audience>,
    pub(crate) stop: Arc<Stop>,
    pub(crate) settings: Arc<ConversationSettings>,
    /// Where what is said is kept.
    pub(crate) place: Place,
    /// What the caller adds to what the agent says.
    pub(crate) wishes: Wishes,
    /// The conversation.
    pub(crate) said: Loaded,
}

/// Where what is said in a turn is kept.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In a session, as the message of this number.
    Session {
        /// The session.
        id: Arc<str>,
        /// The number that the next message will have.
        next: u64,
    },
    /// Nowhere.
    Nowhere,
}

/// What a caller adds to what its agent says.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
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
pub(crate) struct Finished {
    /// What whoever watches is told.
    pub(crate) end: TurnEnd,
    /// What was said in the turn after the messages that it began with.
    pub(crate) said: Vec<Message>,
}

/// How a turn comes to its end.
enum Over {
    Done,
    /// It waits for calls that only the caller can make.
    ForClient(Vec<ToolCall>),
    Stopped(StopReason),
    Failed(TurnFailure),
}

/// Goes on with the next request, or is over.
type Step<T = ()> = ControlFlow<Over, T>;

/// What changes while a turn runs.
struct State {
    selector: Selector,
    repeats: Mutex<Repeats>,
    meter: Meter,
    /// What was said and is yet to be kept, with the requests that it came from.
    unkept: Vec<NewMessage>,
    requests: Vec<ModelRequestRecord>,
    /// What the model is told once besides the conversation.
    aside: Option<Message>,
    finish: Option<FinishReason>,
    /// Learns from each request how many tokens texts take.
    counter: Counter,
    /// How many tokens the last request was thought to take.
    estimated: u64,
    /// What the model must be able to read less than, since its provider found more to be too long.
    shrunk_to: Option<u64>,
    pauses: u32,
    cut_answers: u32,
    has_retold: bool,
    told: Told,
}

/// What was said once and is not said again.
#[derive(Default)]
struct Told {
    left_out: bool,
    unpriced: bool,
    budget: bool,
    nearly_full: bool,
    compacted: Option<String>,
}

impl Task {
    /// Runs the turn to its end. Where something was said, it is kept when this returns.
    pub(crate) async fn run(mut self) -> Finished {
        let mut state = State {
            selector: Selector::new(Arc::clone(&self.around.shelf)),
            repeats: Mutex::default(),
            meter: Meter::new(self.agent.definition.limits),
            unkept: Vec::new(),
            requests: Vec::new(),
            aside: None,
            finish: None,
            counter: Counter::default(),
            estimated: 0,
            shrunk_to: None,
            pauses: 0,
            cut_answers: 0,
            has_retold: false,
            told: Told::default(),
        };
        for entry in &self.said.entries {
            state.selector.recent().note(&entry.message);
        }
        let before = self.said.entries.len();
        let over = loop {
            if let ControlFlow::Break(over) = self.round(&mut state).await {
                break over;
            }
        };
        let end = self.end(state, over).await;
        let said = self.said.entries.into_iter().skip(before).map(|entry| entry.message);
        Finished { end, said: said.collect() }
    }

    /// One request and what comes of it.
    async fn round(&mut self, state: &mut State) -> Step {
        self.may_go_on(state).await?;
        let model = self.model()?;
        let request = Arc::new(self.request(state, &model).await?);
        if self.debug {
            self.tell(TurnEvent::DebugPrompt(prompt::shown(&request))).await;
        }
        state.aside = None;
        // The results of the last calls are kept while the model reads them; the records of the calls have them too.
        let (unkept, requests) = (std::mem::take(&mut state.unkept), std::mem::take(&mut state.requests));
        if let Place::Session { next, .. } = &mut self.place {
            *next += unkept.len() as u64;
        }
        let (kept, answer) =
            tokio::join!(self.keep_these(unkept, requests), self.ask(state, &model, request));
        self.note_kept(kept)?;
        self.take(state, answer).await
    }

    /// Whether the model may be asked once more.
    async fn may_go_on(&self, state: &mut State) -> Step {
        if let Some(reason) = self.stop.reason() {
            return ControlFlow::Break(Over::Stopped(reason));
        }
        if let Some(failure) = state.meter.reached() {
            return ControlFlow::Break(Over::Failed(failure));
        }
        if state.meter.cannot_keep_cost() && !state.told.unpriced {
            state.told.unpriced = true;
            let message = "the agent's limits.cost can't be kept, since the price of its model is not known";
            self.notice(NoticeCode::Budget, message).await;
        }
        let currency = Arc::clone(self.around.prices.table().currency());
        match self.around.budgets.check(&self.principal.id.0, &currency).await {
            Ok(BudgetDecision::Allow) => {}
            Ok(BudgetDecision::Warn { message }) => {
                if !std::mem::replace(&mut state.told.budget, true) {
                    self.notice(NoticeCode::Budget, &message).await;
                }
            }
            Ok(BudgetDecision::Stop { message, hint }) => {
                return failed(TurnFailureCode::BudgetExceeded, message, Some(hint));
            }
            Err(error) => {
                let message = format!("what was spent today can't be read: {error}");
                return failed(TurnFailureCode::Internal, message, None);
            }
        }
        ControlFlow::Continue(())
    }

    fn model(&self) -> Step<ModelRef> {
        match self.around.models.get(self.agent.definition.model.as_deref()) {
            Ok(model) => ControlFlow::Continue(model),
            Err(no_model) => {
                let hint = match &no_model {
                    NoModel::NoneSetUp => Some("add one with `toolway models add`".to_owned()),
                    NoModel::Unknown { close, .. } => names::did_you_mean(close)
                        .or_else(|| Some("`toolway models list` shows their names".to_owned())),
                    NoModel::NoId { name } => Some(format!("write {name}/ID, or set `model` for it")),
                };
                failed(TurnFailureCode::NoModel, no_model.to_string(), hint)
            }
        }
    }

    /// What the model is asked next, with the tools that there are now.
    async fn request(&mut self, state: &mut State, model: &ModelRef) -> Step<ModelRequest> {
        let is_first = state.meter.rounds == 0;
        state.counter = self.around.counters.of(&model.name());
        let selected = state.selector.select(&Choice {
            engine: &self.around.engine,
            caller: &self.caller(),
            agent: &self.agent,
            model,
            most: self.settings.max_tools,
            client: &self.wishes.tools,
        });
        self.tell_left_out(state, &selected);
        let system = prompt::system(&self.agent.definition.prompt, &self.wishes.system);
        let options = prompt::options(&self.agent.definition.options, &self.wishes.options);
        let fitting = Fitting {
            model,
            system_bytes: system.len(),
            tools_bytes: prompt::tools_bytes(&selected.tools),
            max_output: options.max_output_tokens,
        };
        let mut messages = self.fit(state, &fitting).await?;
        messages.extend(state.aside.clone());
        let tool_choice = match &self.wishes.tool_choice {
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
            output: self.wishes.output.clone(),
            options,
        })
    }

    /// Who calls, as things are now.
    fn caller(&self) -> Caller {
        let session = match &self.place {
            Place::Session { id, .. } => Some(Arc::clone(id)),
            Place::Nowhere => None,
        };
        Caller {
            agent: Some(self.agent.definition.name.as_str().into()),
            session,
            turn: Some(Arc::clone(&self.id)),
            own: self.own.current(),
            ..Caller::new(Arc::clone(&self.principal), Door::Agent)
        }
    }

    fn tell_left_out(&self, state: &mut State, selected: &Selected) {
        let is_lost = selected.too_many > 0 && !selected.can_find;
        if state.told.left_out || (selected.not_expressible.is_empty() && !is_lost) {
            return;
        }
        state.told.left_out = true;
        let mut words = Vec::new();
        for (name, why) in selected.not_expressible.iter() {
            words.push(format!("the tool {name} can't be described to this model: {why}"));
        }
        if is_lost {
            let many = selected.too_many;
            words.push(format!(
                "{many} tools are more than the model is told of, and find_tools is not there to find them"
            ));
        }
        self.audience.offer(TurnEvent::Notice { code: NoticeCode::ToolsLeftOut, message: words.join("; ") });
    }

    /// In whose name models are asked.
    fn whose(&self) -> Whose {
        let (session, turn) = match &self.place {
            Place::Session { id, .. } => (Some(Arc::clone(id)), Some(Arc::clone(&self.id))),
            Place::Nowhere => (None, None),
        };
        let agent = self.agent.definition.name.as_str().into();
        Whose { principal: Arc::clone(&self.principal), agent, session, turn }
    }

    async fn ask(&self, state: &mut State, model: &ModelRef, request: Arc<ModelRequest>) -> Answer {
        let started_ms = self.around.clock.now_ms();
        let draft = |text: String| {
            if let Place::Session { next, .. } = &self.place {
                self.around.keeper.draft(&self.id, *next, text);
            }
        };
        let until = state.meter.time_left().map(|left| tokio::time::Instant::now() + left);
        let listener = Listener { audience: &self.audience, stop: &self.stop, until, draft: &draft };
        let answer = listener.listen(model.provider.stream(request)).await;
        let (record, cost) = self.whose().account(&self.around, model, started_ms, &answer);
        let usage = answer.collected.usage;
        state.meter.rounds += 1;
        state.meter.add(usage, cost.as_ref(), matches!(answer.ended, AnswerEnd::Whole));
        if let Some(input) = usage.input {
            state.counter.reported(state.estimated, input);
            self.around.counters.learned(model.name(), &state.counter);
        }
        state.requests.push(record);
        answer
    }

    /// Takes an answer into the conversation, and makes the calls that it has.
    async fn take(&mut self, state: &mut State, answer: Answer) -> Step {
        let Answer { collected, ended, .. } = answer;
        let is_whole = matches!(ended, AnswerEnd::Whole);
        let calls: Vec<ToolCall> = collected.parts.iter().filter_map(as_call).cloned().collect();
        let text: bool =
            collected.parts.iter().any(|part| part.as_text().is_some_and(|it| !it.trim().is_empty()));
        state.finish = collected.finish.clone();
        if let AnswerEnd::Failed(error) = &ended
            && error.kind == ModelErrorKind::ContextTooLong
            && collected.parts.is_empty()
            && state.shrunk_to.is_none()
        {
            state.shrunk_to = Some(state.estimated / 10 * SHRUNK_TENTHS);
            return self.keep(state).await;
        }
        if !collected.parts.is_empty() {
            self.say(state, Message { role: MessageRole::Assistant, parts: collected.parts }, !is_whole);
        }
        let over = match ended {
            AnswerEnd::Whole => None,
            AnswerEnd::Failed(error) => Some(Over::Failed(of_model_error(&error, text))),
            AnswerEnd::BrokeOff => Some(Over::Failed(broke_off(text))),
            AnswerEnd::TooLong => Some(Over::Failed(TurnFailure {
                code: TurnFailureCode::LimitReached,
                message: format!(
                    "the answer is longer than {} MiB; what came until then is kept",
                    MAX_ANSWER >> 20
                ),
                hint: Some("ask for less at a time".to_owned()),
            })),
            AnswerEnd::Stopped(reason) => Some(Over::Stopped(reason)),
            AnswerEnd::OutOfTime => Some(Over::Failed(state.meter.out_of_time())),
        };
        if let Some(over) = over {
            self.answer_calls(state, &calls, "the answer that it stands in broke off");
            return ControlFlow::Break(over);
        }
        match collected.finish {
            Some(FinishReason::Refused) => {
                self.answer_calls(state, &calls, "the model's provider stopped the answer");
                return self.refused(text).await;
            }
            _ if !calls.is_empty() => return self.make_calls(state, calls, text).await,
            Some(FinishReason::Paused) => {
                state.pauses += 1;
                if state.pauses < PAUSES {
                    return self.keep(state).await;
                }
                let message = format!("the model's provider paused the answer {PAUSES} times in a row");
                return failed(TurnFailureCode::Provider, message, None);
            }
            Some(FinishReason::MalformedToolCall) if !std::mem::replace(&mut state.has_retold, true) => {
                state.aside = Some(Message::user(MALFORMED));
                return self.keep(state).await;
            }
            Some(FinishReason::MalformedToolCall) => {
                let message = "the model called a tool twice in a form that its provider could not read";
                let hint = "ask again, or choose another model";
                return failed(TurnFailureCode::Provider, message, Some(hint.to_owned()));
            }
            Some(FinishReason::ContextExceeded) if !text => {
                let message = "the conversation is as long as the model can read, so it could not answer";
                let hint = "start a new session, or say less at a time";
                return failed(TurnFailureCode::ContextTooLong, message, Some(hint.to_owned()));
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
        ControlFlow::Break(Over::Done)
    }

    async fn refused(&self, has_text: bool) -> Step {
        let message = "the model, or its provider's filter, refused to go on";
        if !has_text {
            return failed(TurnFailureCode::Provider, message, Some("say it in another way".to_owned()));
        }
        self.notice(NoticeCode::Refused, message).await;
        ControlFlow::Break(Over::Done)
    }

    /// Makes the calls of an answer: once it is kept where it has text, which is nowhere else; else while it is being
    /// kept, since the records of calls have them too. Calls of the caller's own tools end the turn.
    async fn make_calls(&mut self, state: &mut State, calls: Vec<ToolCall>, has_text: bool) -> Step {
        state.pauses = 0;
        let is_clients = |call: &ToolCall| self.wishes.tools.iter().any(|tool| tool.name == call.name);
        let (for_client, ours): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|call| is_clients(call) && !call.is_cut);
        state.meter.calls = state.meter.calls.saturating_add(u32::try_from(ours.len()).unwrap_or(u32::MAX));
        let calling = Calling {
            engine: &self.around.engine,
            caller: self.caller(),
            questions: self.questions.clone(),
            time_left: state.meter.time_left(),
            audience: &self.audience,
            stop: &self.stop,
            repeats: &state.repeats,
        };
        state.repeats.lock().next_answer();
        let unkept = std::mem::take(&mut state.unkept);
        let requests = std::mem::take(&mut state.requests);
        let keeping = self.keep_these(unkept, requests);
        let (kept, called) = if has_text {
            (keeping.await, calling.make(&ours).await)
        } else {
            tokio::join!(keeping, calling.make(&ours))
        };
        self.note_kept(kept)?;
        let Called { results, waited } = called;
        state.meter.waited(waited);
        let all_cut = for_client.is_empty() && ours.iter().all(|call| call.is_cut);
        state.cut_answers = if all_cut { state.cut_answers + 1 } else { 0 };
        let message = tool_message(results);
        if let Some(asked) = self.said.entries.last() {
            state.selector.recent().note(&asked.message);
        }
        if let Some(message) = message {
            state.selector.recent().note(&message);
            self.say(state, message, false);
        }
        self.caught_up().await;
        if let Some(reason) = self.stop.reason() {
            self.answer_calls(state, &for_client, "the turn was ended");
            return ControlFlow::Break(Over::Stopped(reason));
        }
        if !for_client.is_empty() {
            return ControlFlow::Break(Over::ForClient(for_client));
        }
        if let Some(tool) = state.repeats.lock().hopeless() {
            let message = format!(
                "the model made the same call of {tool} in {GIVE_UP} answers, and it failed each time"
            );
            let hint = "ask in another way, or choose another model";
            return failed(TurnFailureCode::LimitReached, message, Some(hint.to_owned()));
        }
        if state.cut_answers >= CUT_ANSWERS {
            let message = format!("{CUT_ANSWERS} answers in a row ended in the middle of their calls");
            let hint = "raise options.max_output_tokens of the agent, or ask for less at a time";
            return failed(TurnFailureCode::LimitReached, message, Some(hint.to_owned()));
        }
        ControlFlow::Continue(())
    }

    /// Gives calls that are not made their results, so that the conversation can be sent again.
    fn answer_calls(&mut self, state: &mut State, calls: &[ToolCall], why: &str) {
        if let Some(message) = tool_message(not_made(calls.iter(), why)) {
            self.say(state, message, false);
        }
    }

    /// Takes a message into the conversation; it is yet to be kept.
    fn say(&mut self, state: &mut State, message: Message, is_cut: bool) {
        if matches!(self.place, Place::Session { .. }) {
            state.unkept.push(transcript::stored(&message, is_cut));
        }
        let seq = self.said.entries.last().map_or(1, |last| last.seq + 1);
        self.said.entries.push(Entry {
            seq,
            turn: self.id.to_string(),
            message,
            is_cut,
            created_ms: self.around.clock.now_ms(),
            summary_through: None,
        });
    }

    /// Keeps what is yet to be kept, before the model is asked again.
    async fn keep(&mut self, state: &mut State) -> Step {
        let kept =
            self.keep_these(std::mem::take(&mut state.unkept), std::mem::take(&mut state.requests)).await;
        self.note_kept(kept)
    }

    async fn keep_these(
        &self,
        messages: Vec<NewMessage>,
        requests: Vec<ModelRequestRecord>,
    ) -> Result<Option<u64>, StoreError> {
        match &self.place {
            Place::Nowhere if requests.is_empty() => Ok(None),
            Place::Nowhere => self.around.keeper.record(requests).await.map(|()| None),
            Place::Session { .. } if messages.is_empty() && requests.is_empty() => Ok(None),
            Place::Session { .. } => {
                let now = self.around.clock.now_ms();
                let appended = self.around.keeper.append(&self.id, messages, requests, now).await?;
                Ok(Some(appended.next))
            }
        }
    }

    fn note_kept(&mut self, kept: Result<Option<u64>, StoreError>) -> Step {
        match (kept, &mut self.place) {
            (Ok(Some(number)), Place::Session { next, .. }) => *next = number,
            (Ok(_), _) => {}
            // Its session was removed, or a backup put in its place.
            (Err(StoreError::Missing { .. }), _) => {
                return ControlFlow::Break(Over::Stopped(StopReason::Aborted));
            }
            (Err(error), Place::Nowhere) => {
                tracing::error!("a request to a model was not recorded: {error}");
            }
            (Err(error), Place::Session { .. }) => {
                let message = format!("what was said could not be kept: {error}");
                return failed(TurnFailureCode::Internal, message, None);
            }
        }
        ControlFlow::Continue(())
    }

    async fn notice(&self, code: NoticeCode, message: &str) {
        self.tell(TurnEvent::Notice { code, message: message.to_owned() }).await;
    }

    /// Tells everybody, and waits for those who are behind unless the turn is to end.
    async fn tell(&self, event: TurnEvent) {
        if self.audience.offer(event) {
            self.caught_up().await;
        }
    }

    async fn caught_up(&self) {
        tokio::select! {
            biased;
            () = self.stop.token().cancelled() => {}
            () = self.audience.caught_up() => {}
        }
    }

    /// Ends the turn where it is kept, and says how it ended.
    async fn end(&mut self, state: State, over: Over) -> TurnEnd {
        let State { meter, unkept, requests, finish, .. } = state;
        let (status, client_calls) = match over {
            Over::Done => (TurnStatus::Done, Vec::new()),
            Over::ForClient(calls) => (TurnStatus::Done, calls),
            Over::Stopped(StopReason::Aborted) => (TurnStatus::Aborted, Vec::new()),
            Over::Stopped(StopReason::ShuttingDown) => (TurnStatus::Failed(shutting_down()), Vec::new()),
            Over::Failed(failure) => (TurnStatus::Failed(failure), Vec::new()),
        };
        let (cost, currency) = meter.cost();
        let mut end = TurnEnd {
            status,
            full_response: self.audience.text_from(0),
            usage: meter.usage,
            cost,
            currency,
            rounds: meter.rounds,
            tool_calls: meter.calls,
            finish,
            client_calls,
        };
        let kept = match &self.place {
            Place::Nowhere => self.keep_these(Vec::new(), requests).await.map(drop),
            Place::Session { .. } => {
                let ending = self.ending(&end, unkept, requests);
                self.around.keeper.end(ending).await.map(drop)
            }
        };
        match kept {
            Ok(()) | Err(StoreError::Missing { .. }) => {}
            Err(error) => {
                tracing::error!(turn = &*self.id, "the end of a turn was not kept: {error}");
                if matches!(self.place, Place::Session { .. }) && end.status == TurnStatus::Done {
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
            ended_ms: self.around.clock.now_ms(),
            messages,
            requests,
            code: failure.map(|failure| failure.code.as_str().to_owned()),
            message: failure.map(|failure| failure.message.clone()),
            finish: end.finish.as_ref().map(finish_word),
            rounds: end.rounds,
            calls: end.tool_calls,
            tokens: tokens(end.usage),
            cost: end.cost,
            currency: end.currency.clone(),
        }
    }
}

/// The results of an answer's calls as one message; none where there are none.
fn tool_message(results: Vec<ToolResult>) -> Option<Message> {
    if results.is_empty() {
        return None;
    }
    Some(Message { role: MessageRole::Tool, parts: results.into_iter().map(Part::ToolResult).collect() })
}

fn as_call(part: &Part) -> Option<&ToolCall> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

fn failed<T>(code: TurnFailureCode, message: impl Into<String>, hint: Option<String>) -> Step<T> {
    ControlFlow::Break(Over::Failed(TurnFailure { code, message: message.into(), hint }))
}

/// What a model provider's failure is to whoever waits for the answer.
fn of_model_error(error: &ModelError, has_text: bool) -> TurnFailure {
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

fn broke_off(has_text: bool) -> TurnFailure {
    let message = match has_text {
        true => "the answer broke off before it was whole",
        false => "the model's provider closed the connection without an answer",
    };
    TurnFailure { code: TurnFailureCode::Provider, message: message.to_owned(), hint: None }
}

pub(crate) fn shutting_down() -> TurnFailure {
    TurnFailure {
        code: TurnFailureCode::ShuttingDown,
        message: "the gateway is shutting down".to_owned(),
        hint: Some("what was said is kept; go on when it is back".to_owned()),
    }
}
