//! Understands the answers of Gemini.
//!
//! A call comes whole, with or without an id: ours tell calls apart that have none (pitfall M7). A part that is signed
//! stays a part of its own, so that its signature goes back on just that (pitfall M8).

use std::sync::Arc;

use toolway_types::CallId;

use super::chunk::{Call, Candidate, Chunk, Part as WirePart, WireUsage};
use super::tool;
use crate::answer::{Decoder, Events, Progress, not_understood};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, Failure, Said};
use crate::message::{Opaque, Part, ToolCall};
use crate::opaque::Kept;
use crate::request::ModelRequest;
use crate::tools::{ConvertedTools, ToolSet};
use crate::transport::SseEvent;

/// Most calls in one answer.
const MAX_CALLS: usize = 256;

/// The decoder.
pub(super) struct ContentDecoder {
    config: Arc<ProviderConfig>,
    model: Arc<str>,
    tools: Arc<ToolSet>,
    converted: Arc<ConvertedTools>,
    progress: Progress,
    started: bool,
    open: Open,
    calls: usize,
    /// Whole parts that wait for the end of the answer: the first call and what follows it.
    held: Vec<Part>,
    usage: WireUsage,
    finish: Option<FinishReason>,
}

/// The part that is under way.
#[derive(Debug)]
enum Open {
    Nothing,
    Text(String),
    Thinking(String),
}

impl ContentDecoder {
    pub(super) fn new(config: Arc<ProviderConfig>, request: &ModelRequest) -> Self {
        Self {
            config,
            model: Arc::clone(&request.model),
            tools: Arc::clone(&request.tools),
            converted: tool::converted(request),
            progress: Progress::Going,
            started: false,
            open: Open::Nothing,
            calls: 0,
            held: Vec::new(),
            usage: WireUsage::default(),
            finish: None,
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, data: &str, out: &mut Events) -> Result<(), Failure> {
        if chunk.error.is_some_and(|error| error.get() != "null") {
            return Err(self.failed(data));
        }
        self.start(chunk.model_version, out);
        for candidate in chunk.candidates.into_iter().flatten() {
            // One answer is asked for.
            if candidate.index.unwrap_or_default() == 0 {
                self.candidate(candidate, out)?;
            }
        }
        if let Some(usage) = chunk.usage_metadata.filter(|usage| *usage != self.usage) {
            self.usage = usage;
            out.push_back(ModelEvent::Usage(usage.usage()));
        }
        if chunk.prompt_feedback.block_reason.is_some() && self.finish.is_none() {
            self.finish = Some(FinishReason::Refused);
            self.progress = Progress::Closing;
        }
        Ok(())
    }

    fn start(&mut self, model: Option<String>, out: &mut Events) {
        if !self.started {
            self.started = true;
            out.push_back(ModelEvent::Started { model: model.filter(|model| !model.is_empty()) });
        }
    }

    fn candidate(&mut self, candidate: Candidate<'_>, out: &mut Events) -> Result<(), Failure> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out)?;
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(self.reason(&reason, candidate.finish_message)?);
            self.progress = Progress::Closing;
        }
        Ok(())
    }

    fn part(&mut self, part: WirePart<'_>, out: &mut Events) -> Result<(), Failure> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            return self.call(call, signature, out);
        }
        if let Some(picture) = part.inline_data {
            self.turn_to(Open::Nothing, out);
            self.give(Part::Image { data: picture.data, mime_type: picture.mime_type }, out);
            return Ok(());
        }
        let Some(text) = part.text else { return Ok(()) };
        let is_thought = part.thought == Some(true);
        if !text.is_empty() {
            out.push_back(if is_thought {
                ModelEvent::Thinking(text.clone().into_owned())
            } else {
                ModelEvent::Text(text.clone().into_owned())
            });
        }
        if let Some(signature) = signature {
            self.turn_to(Open::Nothing, out);
            let opaque = Some(self.opaque(Some(signature), None));
            let text = text.into_owned();
            self.give(
                if is_thought { Part::Thinking { text, opaque } } else { Part::Text { text, opaque } },
                out,
            );
        } else if !text.is_empty() {
            match (&mut self.open, is_thought) {
                (Open::Thinking(open), true) | (Open::Text(open), false) => open.push_str(&text),
                (_, true) => self.turn_to(Open::Thinking(text.into_owned()), out),
                (_, false) => self.turn_to(Open::Text(text.into_owned()), out),
            }
        }
        Ok(())
    }

    /// Ends the part that is under way.
    fn turn_to(&mut self, open: Open, out: &mut Events) {
        match std::mem::replace(&mut self.open, open) {
            Open::Nothing => {}
            Open::Text(text) => self.give(Part::text(text), out),
            Open::Thinking(text) => self.give(Part::Thinking { text, opaque: None }, out),
        }
    }

    fn give(&mut self, part: Part, out: &mut Events) {
        if self.held.is_empty() && !matches!(part, Part::ToolCall(_)) {
            out.push_back(ModelEvent::Part(part));
        } else {
            self.held.push(part);
        }
    }

    fn call(&mut self, call: Call<'_>, signature: Option<String>, out: &mut Events) -> Result<(), Failure> {
        if self.calls >= MAX_CALLS {
            let what = format!("the answer has more than {MAX_CALLS} calls");
            return Err(failure::protocol(&self.config, &what, ""));
        }
        self.turn_to(Open::Nothing, out);
        let index = self.calls;
        self.calls += 1;
        let name = self.tools.name_of(&call.name.unwrap_or_default()).to_owned();
        let arguments = call.args.map_or("{}", |args| args.get()).to_owned();
        out.push_back(ModelEvent::ToolCallStarted { index, name: name.clone() });
        out.push_back(ModelEvent::ToolCallArguments { index, delta: arguments.clone() });
        let id = call.id.filter(|id| !id.is_empty());
        let opaque = (signature.is_some() || id.is_some()).then(|| self.opaque(signature, id));
        let arguments = self.converted.restore(&name, arguments);
        self.give(
            Part::ToolCall(ToolCall { id: CallId::new(), name, arguments, is_cut: false, opaque }),
            out,
        );
        Ok(())
    }

    fn opaque(&self, signature: Option<String>, id: Option<String>) -> Opaque {
        Kept { model: Arc::clone(&self.model), id, signature, redacted: None }.opaque(&self.config)
    }

    fn reason(&self, reason: &str, message: Option<String>) -> Result<FinishReason, Failure> {
        Ok(match reason {
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" | "CONTINUATION" => FinishReason::Length,
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "ESCALATION"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "PUP_LIMITED_DISABLED" => FinishReason::Refused,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => FinishReason::MalformedToolCall,
            "MISSING_THOUGHT_SIGNATURE" => {
                let said = message.unwrap_or_else(|| reason.to_owned());
                return Err(failure::in_stream(
                    &self.config,
                    &self.model,
                    &Said::new("invalid_argument", &said),
                ));
            }
            other => FinishReason::Other(other.chars().take(64).collect()),
        })
    }

    /// Gives out what waited, and the end.
    fn close(&mut self, out: &mut Events) {
        self.start(None, out);
        self.turn_to(Open::Nothing, out);
        let held = std::mem::take(&mut self.held);
        out.extend(held.into_iter().map(ModelEvent::Part));
        out.push_back(ModelEvent::Finished(match self.finish.take() {
            Some(FinishReason::Stop) | None if self.calls > 0 => FinishReason::ToolCalls,
            Some(reason) => reason,
            None => FinishReason::Stop,
        }));
        self.progress = Progress::Over;
    }

    fn parsed<'d>(&self, data: &'d str) -> Result<Chunk<'d>, Failure> {
        serde_json::from_str(data)
            .map_err(|problem| not_understood(&self.config, &self.model, data, &problem))
    }

    fn failed(&self, data: &str) -> Failure {
        let said = Said::in_text(data).unwrap_or_else(|| Said::new("", data));
        failure::in_stream(&self.config, &self.model, &said)
    }
}

impl Decoder for ContentDecoder {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Events) -> Result<(), Failure> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.failed(data));
        }
        let chunk = self.parsed(data)?;
        self.chunk(chunk, data, out)
    }

    fn whole(&mut self, body: &str, out: &mut Events) -> Result<(), Failure> {
        // Without `alt=sse` the chunks come as one list.
        if body.trim_start().starts_with('[') {
            let chunks: Vec<Chunk<'_>> = serde_json::from_str(body)
                .map_err(|problem| not_understood(&self.config, &self.model, body, &problem))?;
            for chunk in chunks {
                self.chunk(chunk, body, out)?;
            }
        } else {
            let chunk = self.parsed(body)?;
            if chunk.error.is_none()
                && chunk.candidates.is_none()
                && chunk.prompt_feedback.block_reason.is_none()
            {
                return Err(failure::protocol(&self.config, "the answer has no candidates", body));
            }
            self.chunk(chunk, body, out)?;
        }
        self.end(out)
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
