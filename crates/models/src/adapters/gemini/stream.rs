//! Decoder for the responses of Gemini.
//!
//! A call arrives complete, with or without an id; our own ids distinguish calls that have none (pitfall M7). A signed
//! part stays a part of its own, so that its signature goes back with exactly this part (pitfall M8).

use std::sync::Arc;

use toolway_types::CallId;

use super::chunk::{
    CandidateFunctionCall, CandidatePart as WirePart, GeminiCandidate, GeminiUsage, GenerateContentResponse,
};
use super::tool;
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{AttemptFailure, ProviderErrorBody};
use crate::message::{MessagePart, OpaqueState, ToolCall};
use crate::opaque::OpaquePayload;
use crate::request::ModelRequest;
use crate::response::{
    DONE_MARKER, DecoderState, MAX_RESPONSE_ITEMS, ModelEventQueue, ResponseDecoder, ResponseProgress,
};
use crate::tools::{ConvertedTools, ToolSet};
use crate::transport::SseEvent;

/// Decodes one response.
pub(super) struct GeminiDecoder {
    state: DecoderState,
    tools: Arc<ToolSet>,
    converted: Arc<ConvertedTools>,
    open: OpenGeminiPart,
    calls: usize,
    /// Complete parts that wait for the end of the response: the first call and everything after it.
    pending: Vec<MessagePart>,
    usage: GeminiUsage,
    finish: Option<FinishReason>,
}

/// The open part.
#[derive(Debug)]
enum OpenGeminiPart {
    Nothing,
    Text(String),
    Thinking(String),
}

impl GeminiDecoder {
    pub(super) fn new(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Self {
        Self {
            state: DecoderState::new(config, request),
            tools: Arc::clone(&request.tools),
            converted: tool::convert_tools(request),
            open: OpenGeminiPart::Nothing,
            calls: 0,
            pending: Vec::new(),
            usage: GeminiUsage::default(),
            finish: None,
        }
    }

    fn chunk(
        &mut self,
        chunk: GenerateContentResponse<'_>,
        data: &str,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        if chunk.error.is_some_and(|error| error.get() != "null") {
            return Err(self.state.provider_failure_in(data));
        }
        self.state.start(chunk.model_version.as_deref(), out);
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
            self.state.progress = ResponseProgress::TrailingUsage;
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: GeminiCandidate<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.part(part, out)?;
        }
        if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(self.finish_reason(&reason, candidate.finish_message)?);
            self.state.progress = ResponseProgress::TrailingUsage;
        }
        Ok(())
    }

    fn part(&mut self, part: WirePart<'_>, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        if let Some(call) = part.function_call {
            return self.call(call, signature, out);
        }
        if let Some(picture) = part.inline_data {
            self.switch_part(OpenGeminiPart::Nothing, out);
            self.push_part(MessagePart::Image { data: picture.data, mime_type: picture.mime_type }, out);
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
            self.switch_part(OpenGeminiPart::Nothing, out);
            let opaque = Some(self.opaque(Some(signature), None));
            let text = text.into_owned();
            self.push_part(
                if is_thought {
                    MessagePart::Thinking { text, opaque }
                } else {
                    MessagePart::Text { text, opaque }
                },
                out,
            );
        } else if !text.is_empty() {
            match (&mut self.open, is_thought) {
                (OpenGeminiPart::Thinking(open), true) | (OpenGeminiPart::Text(open), false) => {
                    open.push_str(&text)
                }
                (_, true) => self.switch_part(OpenGeminiPart::Thinking(text.into_owned()), out),
                (_, false) => self.switch_part(OpenGeminiPart::Text(text.into_owned()), out),
            }
        }
        Ok(())
    }

    /// Closes the open part and opens the next one.
    fn switch_part(&mut self, open: OpenGeminiPart, out: &mut ModelEventQueue) {
        match std::mem::replace(&mut self.open, open) {
            OpenGeminiPart::Nothing => {}
            OpenGeminiPart::Text(text) => self.push_part(MessagePart::text(text), out),
            OpenGeminiPart::Thinking(text) => {
                self.push_part(MessagePart::Thinking { text, opaque: None }, out)
            }
        }
    }

    fn push_part(&mut self, part: MessagePart, out: &mut ModelEventQueue) {
        if self.pending.is_empty() && !matches!(part, MessagePart::ToolCall(_)) {
            out.push_back(ModelEvent::Part(part));
        } else {
            self.pending.push(part);
        }
    }

    fn call(
        &mut self,
        call: CandidateFunctionCall<'_>,
        signature: Option<String>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        if self.calls >= MAX_RESPONSE_ITEMS {
            let what = format!("the response has more than {MAX_RESPONSE_ITEMS} calls");
            return Err(self.state.protocol_failure(&what, ""));
        }
        self.switch_part(OpenGeminiPart::Nothing, out);
        let index = self.calls;
        self.calls += 1;
        let name = self.tools.original_name(&call.name.unwrap_or_default()).to_owned();
        let arguments = call.args.map_or("{}", |args| args.get()).to_owned();
        out.push_back(ModelEvent::ToolCallStarted { index, name: name.clone() });
        out.push_back(ModelEvent::ToolCallArguments { index, delta: arguments.clone() });
        let id = call.id.filter(|id| !id.is_empty());
        let opaque = (signature.is_some() || id.is_some()).then(|| self.opaque(signature, id));
        let arguments = self.converted.restore_arguments(&name, arguments);
        self.push_part(
            MessagePart::ToolCall(ToolCall { id: CallId::new(), name, arguments, is_cut: false, opaque }),
            out,
        );
        Ok(())
    }

    fn opaque(&self, signature: Option<String>, id: Option<String>) -> OpaqueState {
        OpaquePayload { model: Arc::clone(&self.state.model), id, signature, redacted: None }
            .to_opaque(&self.state.config)
    }

    fn finish_reason(&self, reason: &str, message: Option<String>) -> Result<FinishReason, AttemptFailure> {
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
                return Err(self.state.provider_failure(&ProviderErrorBody::new("invalid_argument", &said)));
            }
            other => FinishReason::other(other),
        })
    }
}

impl ResponseDecoder for GeminiDecoder {
    fn state(&self) -> &DecoderState {
        &self.state
    }

    fn decode_event(
        &mut self,
        event: &SseEvent<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        match self.state.event_data(event)? {
            None | Some(DONE_MARKER) => Ok(()),
            Some(data) => self.chunk(self.state.parse(data)?, data, out),
        }
    }

    fn decode_whole(&mut self, body: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        // Without `alt=sse` the chunks come as one list.
        if body.trim_start().starts_with('[') {
            let chunks: Vec<GenerateContentResponse<'_>> = self.state.parse(body)?;
            for chunk in chunks {
                self.chunk(chunk, body, out)?;
            }
        } else {
            let chunk: GenerateContentResponse<'_> = self.state.parse(body)?;
            if chunk.error.is_none()
                && chunk.candidates.is_none()
                && chunk.prompt_feedback.block_reason.is_none()
            {
                return Err(self.state.protocol_failure("the response has no candidates", body));
            }
            self.chunk(chunk, body, out)?;
        }
        self.finish(out)
    }

    fn finish_response(&mut self, out: &mut ModelEventQueue) {
        self.state.start(None, out);
        self.switch_part(OpenGeminiPart::Nothing, out);
        let held = std::mem::take(&mut self.pending);
        out.extend(held.into_iter().map(ModelEvent::Part));
        let reason = match self.finish.take() {
            Some(FinishReason::Stop) | None if self.calls > 0 => FinishReason::ToolCalls,
            Some(reason) => reason,
            None => FinishReason::Stop,
        };
        self.state.end(reason, out);
    }
}
