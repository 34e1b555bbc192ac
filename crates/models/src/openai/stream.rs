//! Understands the answers of Chat Completions.
//!
//! A tool call comes in pieces and counts as whole only when the answer ended properly: at `[DONE]`, or with a
//! `finish_reason`. An answer that stops without either is cut off, and its calls are not given out.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolway_types::{CallId, JsonObject, RawJson};

use super::calls::{Calls, EndedCall, MAX_CALLS, TooManyCalls};
use super::chunk::{Choice, Chunk, Delta, Said, Spoken, WireUsage};
use super::details;
use crate::answer::{Decoder, Events, Progress, not_understood};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, Failure, Said as SaidError};
use crate::message::{Opaque, Part, ToolCall};
use crate::request::ModelRequest;
use crate::tools::ConvertedTools;
use crate::transport::SseEvent;

/// The decoder.
pub(super) struct ChatDecoder {
    config: Arc<ProviderConfig>,
    model: Arc<str>,
    /// What turns arguments back that were given in strict form.
    restore: Option<Arc<ConvertedTools>>,
    progress: Progress,
    started: bool,
    open: Open,
    text: String,
    thinking: String,
    /// The items of `reasoning_details`, in order.
    details: Vec<JsonObject>,
    calls: Calls,
    refused: bool,
    finish: Option<FinishReason>,
}

/// The part that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Text,
    Thinking,
}

impl ChatDecoder {
    pub(super) fn new(
        config: Arc<ProviderConfig>,
        request: &ModelRequest,
        restore: Option<Arc<ConvertedTools>>,
    ) -> Self {
        Self {
            config,
            model: Arc::clone(&request.model),
            restore,
            progress: Progress::Going,
            started: false,
            open: Open::Nothing,
            text: String::new(),
            thinking: String::new(),
            details: Vec::new(),
            calls: Calls::new(Arc::clone(&request.tools)),
            refused: false,
            finish: None,
        }
    }

    fn chunk(&mut self, data: &str, out: &mut Events) -> Result<(), Failure> {
        let chunk: Chunk<'_> = self.parse(data)?;
        if let Some(usage) = &chunk.usage {
            self.usage(usage, out);
        }
        if let Some(groq) = &chunk.x_groq {
            if let Some(usage) = &groq.usage {
                self.usage(usage, out);
            }
            if let Some(error) = groq.error.as_deref().filter(|error| !error.is_empty()) {
                return Err(self.failed(&SaidError::new("", error)));
            }
        }
        if chunk.choices.is_some() {
            self.start(chunk.model.as_deref(), out);
        }
        // OpenAI's own gives as many answers as are asked for, and one is.
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or_default() == 0) {
            self.choice(choice, false, out)?;
        }
        Ok(())
    }

    /// Reads a chunk or a whole answer; finds the errors that stand in their place.
    fn parse<'a>(&self, data: &'a str) -> Result<Chunk<'a>, Failure> {
        let chunk: Chunk<'_> = serde_json::from_str(data)
            .map_err(|problem| not_understood(&self.config, &self.model, data, &problem))?;
        let has_error = chunk.error.is_some_and(|error| error.get() != "null");
        if (has_error || chunk.choices.is_none())
            && let Some(said) = SaidError::in_text(data)
        {
            return Err(self.failed(&said));
        }
        Ok(chunk)
    }

    fn start(&mut self, model: Option<&str>, out: &mut Events) {
        if !self.started {
            self.started = true;
            let model = model.filter(|model| !model.is_empty()).map(str::to_owned);
            out.push_back(ModelEvent::Started { model });
        }
    }

    fn usage(&mut self, usage: &WireUsage, out: &mut Events) {
        let usage = usage.usage();
        if usage != crate::usage::Usage::default() {
            out.push_back(ModelEvent::Usage(usage));
        }
    }

    fn choice(&mut self, choice: Choice<'_>, is_whole: bool, out: &mut Events) -> Result<(), Failure> {
        if let Some(error) = choice.error.filter(|error| error.get() != "null") {
            let value = serde_json::from_str(error.get()).unwrap_or_default();
            return Err(self.failed(&SaidError::in_value(&value)));
        }
        match (choice.delta, choice.message) {
            (Some(delta), _) if !is_whole => self.delta(delta, false, out)?,
            // Some repeat at the end, as a whole, what came in pieces.
            (_, Some(message)) if is_whole || !self.said_anything() => self.delta(message, true, out)?,
            _ => {}
        }
        match choice.finish_reason.as_deref() {
            // Some send an empty one with every chunk.
            None | Some("") => {}
            Some(reason) => {
                self.finish = Some(self.reason(reason)?);
                self.progress = Progress::Closing;
            }
        }
        Ok(())
    }

    fn said_anything(&self) -> bool {
        self.open != Open::Nothing || !self.calls.is_empty()
    }

    fn delta(&mut self, delta: Delta<'_>, is_whole: bool, out: &mut Events) -> Result<(), Failure> {
        // Some servers send the same thought under both names.
        let thought = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
        self.think(thought.unwrap_or_default(), out);
        if let Some(details) = delta.reasoning_details {
            self.detail(details, out);
        }
        let Said(said) = delta.content;
        for spoken in said {
            match spoken {
                Spoken::Text(text) => self.say(text, out),
                Spoken::Thinking(text) => self.think(text, out),
            }
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal, out);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            let taken = self.calls.take(&call, is_whole, out);
            taken.map_err(|TooManyCalls| {
                let what = format!("the answer has more than {MAX_CALLS} tool calls");
                failure::protocol(&self.config, &what, "")
            })?;
        }
        Ok(())
    }

    fn say(&mut self, text: String, out: &mut Events) {
        if text.is_empty() {
            return;
        }
        self.turn_to(Open::Text, out);
        self.text.push_str(&text);
        out.push_back(ModelEvent::Text(text));
    }

    fn think(&mut self, text: String, out: &mut Events) {
        if text.is_empty() {
            return;
        }
        self.turn_to(Open::Thinking, out);
        self.thinking.push_str(&text);
        out.push_back(ModelEvent::Thinking(text));
    }

    /// Keeps the items of `reasoning_details`. They belong to the thinking, and may come without a word of it.
    fn detail(&mut self, details: &RawValue, out: &mut Events) {
        let Ok(items) = serde_json::from_str::<Vec<JsonObject>>(details.get()) else { return };
        if !items.is_empty() {
            self.turn_to(Open::Thinking, out);
            items.into_iter().for_each(|item| details::add(&mut self.details, item));
        }
    }

    /// Ends the part that is under way where another kind begins.
    fn turn_to(&mut self, open: Open, out: &mut Events) {
        if self.open == open {
            return;
        }
        match std::mem::replace(&mut self.open, open) {
            Open::Nothing => {}
            Open::Text => out.push_back(ModelEvent::Part(Part::text(std::mem::take(&mut self.text)))),
            Open::Thinking => {
                let data = details::data(std::mem::take(&mut self.details));
                let opaque = Some(self.opaque(data));
                let text = std::mem::take(&mut self.thinking);
                out.push_back(ModelEvent::Part(Part::Thinking { text, opaque }));
            }
        }
    }

    /// Gives out what was not yet, and the end.
    fn close(&mut self, out: &mut Events) {
        self.start(None, out);
        self.turn_to(Open::Nothing, out);
        let finish = self.finish.take();
        let calls = self.calls.end(finish.as_ref());
        let has_calls = !calls.is_empty();
        for call in calls {
            out.push_back(ModelEvent::Part(Part::ToolCall(self.tool_call(call))));
        }
        out.push_back(ModelEvent::Finished(match finish {
            Some(FinishReason::Stop) | None if has_calls => FinishReason::ToolCalls,
            Some(FinishReason::ToolCalls) if !has_calls => FinishReason::MalformedToolCall,
            Some(FinishReason::Stop) | None if self.refused => FinishReason::Refused,
            Some(reason) => reason,
            None => FinishReason::Stop,
        }));
        self.progress = Progress::Over;
    }

    fn tool_call(&self, call: EndedCall) -> ToolCall {
        let EndedCall { name, arguments, is_cut, data } = call;
        let arguments = match &self.restore {
            Some(tools) if !is_cut => tools.restore(&name, arguments),
            _ => arguments,
        };
        ToolCall { id: CallId::new(), name, arguments, is_cut, opaque: data.map(|data| self.opaque(data)) }
    }

    fn opaque(&self, data: RawJson) -> Opaque {
        Opaque { provider: Arc::clone(&self.config.name), data }
    }

    fn reason(&self, reason: &str) -> Result<FinishReason, Failure> {
        Ok(match reason {
            "stop" | "eos" | "end_turn" => FinishReason::Stop,
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            "length" | "max_tokens" => FinishReason::Length,
            // Mistral's word for it.
            "model_length" => FinishReason::ContextExceeded,
            "content_filter" => FinishReason::Refused,
            // OpenRouter's and Mistral's, and DeepSeek's, for an answer that failed in its middle.
            "error" | "insufficient_system_resource" => {
                return Err(self.failed(&SaidError::new("server_error", reason)));
            }
            other => FinishReason::Other(other.chars().take(64).collect()),
        })
    }

    fn failed(&self, said: &SaidError) -> Failure {
        failure::in_stream(&self.config, &self.model, said)
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Events) -> Result<(), Failure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.close(out);
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        if event.name == "error" {
            let said = SaidError::in_text(data).unwrap_or_else(|| SaidError::new("", data));
            return Err(self.failed(&said));
        }
        self.chunk(data, out)
    }

    fn whole(&mut self, body: &str, out: &mut Events) -> Result<(), Failure> {
        let answer = self.parse(body)?;
        let choice = answer.choices.into_iter().flatten().next();
        let Some(choice) = choice else {
            return Err(failure::protocol(&self.config, "the answer has no choices", body));
        };
        self.start(answer.model.as_deref(), out);
        self.choice(choice, true, out)?;
        if let Some(usage) = &answer.usage {
            self.usage(usage, out);
        }
        self.close(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Events) -> Result<(), Failure> {
        match self.progress {
            Progress::Going => Err(failure::cut_off(&self.config)),
            Progress::Closing => {
                self.close(out);
                Ok(())
            }
            Progress::Over => Ok(()),
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}
