//! Decoder for the responses of Chat Completions.
//!
//! A tool call arrives in pieces. It is complete only if the response ends properly, with `[DONE]` or with a
//! `finish_reason`. Without either, the response is truncated and its calls are not emitted.

use std::sync::Arc;

use serde_json::value::RawValue;
use toolway_types::{CallId, JsonObject};

use super::call_assembler::{AssembledToolCall, TooManyCalls, ToolCallAssembler};
use super::chunk::{
    ChatCompletionChunk, ChatCompletionDelta, ChunkChoice, CompletionUsage, DeltaContent, DeltaContentPart,
};
use super::reasoning_details;
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, AttemptFailure, ProviderErrorBody};
use crate::inline_thinking::{InlineThinking, TextSegment};
use crate::message::{MessagePart, ToolCall};
use crate::request::ModelRequest;
use crate::response::{
    DONE_MARKER, DecoderState, MAX_RESPONSE_ITEMS, ModelEventQueue, ResponseDecoder, ResponseProgress,
};
use crate::tools::ConvertedTools;
use crate::transport::SseEvent;
use crate::usage::ModelUsage;

/// Decodes one response.
pub(super) struct ChatCompletionsDecoder {
    state: DecoderState,
    /// Tools that convert arguments from strict form.
    argument_tools: Option<Arc<ConvertedTools>>,
    open: OpenChatPart,
    /// Separates thinking from the text.
    inline: InlineThinking,
    text: String,
    thinking: String,
    /// The items of `reasoning_details`, in order.
    details: Vec<JsonObject>,
    calls: ToolCallAssembler,
    refused: bool,
    finish: Option<FinishReason>,
}

/// The open part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenChatPart {
    Nothing,
    Text,
    Thinking,
}

impl ChatCompletionsDecoder {
    pub(super) fn new(
        config: &Arc<ProviderConfig>,
        request: &ModelRequest,
        restore: Option<Arc<ConvertedTools>>,
    ) -> Self {
        Self {
            state: DecoderState::new(config, request),
            argument_tools: restore,
            open: OpenChatPart::Nothing,
            inline: InlineThinking::default(),
            text: String::new(),
            thinking: String::new(),
            details: Vec::new(),
            calls: ToolCallAssembler::new(Arc::clone(&request.tools)),
            refused: false,
            finish: None,
        }
    }

    fn chunk(&mut self, data: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        let chunk: ChatCompletionChunk<'_> = self.parse(data)?;
        if let Some(usage) = &chunk.usage {
            self.usage(usage, out);
        }
        if let Some(groq) = &chunk.x_groq {
            if let Some(usage) = &groq.usage {
                self.usage(usage, out);
            }
            if let Some(error) = groq.error.as_deref().filter(|error| !error.is_empty()) {
                return Err(self.state.provider_failure(&ProviderErrorBody::new("", error)));
            }
        }
        if chunk.choices.is_some() {
            self.state.start(chunk.model.as_deref(), out);
        }
        // OpenAI's own gives as many answers as are asked for, and one is.
        let choices = chunk.choices.unwrap_or_default();
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or_default() == 0) {
            self.choice(choice, false, out)?;
        }
        Ok(())
    }

    /// Parses a chunk or a whole response, and finds errors in its place.
    fn parse<'a>(&self, data: &'a str) -> Result<ChatCompletionChunk<'a>, AttemptFailure> {
        let chunk: ChatCompletionChunk<'_> = self.state.parse(data)?;
        let has_error = chunk.error.is_some_and(|error| error.get() != "null");
        if (has_error || chunk.choices.is_none())
            && let Some(said) = ProviderErrorBody::from_text(data)
        {
            return Err(self.state.provider_failure(&said));
        }
        Ok(chunk)
    }

    fn usage(&self, usage: &CompletionUsage, out: &mut ModelEventQueue) {
        let usage = usage.usage();
        if usage != ModelUsage::default() {
            out.push_back(ModelEvent::Usage(usage));
        }
    }

    fn choice(
        &mut self,
        choice: ChunkChoice<'_>,
        is_whole: bool,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        if let Some(error) = choice.error.filter(|error| error.get() != "null") {
            let value = serde_json::from_str(error.get()).unwrap_or_default();
            return Err(self.state.provider_failure(&ProviderErrorBody::from_value(&value)));
        }
        match (choice.delta, choice.message) {
            (Some(delta), _) if !is_whole => self.delta(delta, false, out)?,
            // Some repeat at the end, as a whole, what came in pieces.
            (_, Some(message)) if is_whole || !self.has_output() => self.delta(message, true, out)?,
            _ => {}
        }
        match choice.finish_reason.as_deref() {
            // Some send an empty one with every chunk.
            None | Some("") => {}
            Some(reason) => {
                self.finish = Some(self.finish_reason(reason)?);
                self.state.progress = ResponseProgress::TrailingUsage;
            }
        }
        Ok(())
    }

    fn has_output(&self) -> bool {
        self.open != OpenChatPart::Nothing || !self.calls.is_empty() || self.inline.has_pending()
    }

    fn delta(
        &mut self,
        delta: ChatCompletionDelta<'_>,
        is_whole: bool,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        // Some servers send the same thought under both names.
        let thought = delta.reasoning_content.filter(|text| !text.is_empty()).or(delta.reasoning);
        self.push_thinking(thought.unwrap_or_default(), out);
        if let Some(details) = delta.reasoning_details {
            self.push_reasoning_details(details, out);
        }
        let DeltaContent(said) = delta.content;
        for spoken in said {
            match spoken {
                DeltaContentPart::Text(text) => {
                    let segments = self.inline.push(&text);
                    segments.into_iter().for_each(|segment| self.push_segment(segment, out));
                }
                DeltaContentPart::Thinking(text) => self.push_thinking(text, out),
            }
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.push_text(refusal, out);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            let taken = self.calls.push_delta(&call, is_whole, out);
            taken.map_err(|TooManyCalls| {
                let what = format!("the response has more than {MAX_RESPONSE_ITEMS} tool calls");
                self.state.protocol_failure(&what, "")
            })?;
        }
        Ok(())
    }

    fn push_segment(&mut self, segment: TextSegment, out: &mut ModelEventQueue) {
        match segment {
            TextSegment::Answer(text) => self.push_text(text, out),
            TextSegment::Thinking(text) => self.push_thinking(text, out),
        }
    }

    fn push_text(&mut self, text: String, out: &mut ModelEventQueue) {
        if text.is_empty() {
            return;
        }
        self.switch_part(OpenChatPart::Text, out);
        self.text.push_str(&text);
        out.push_back(ModelEvent::Text(text));
    }

    fn push_thinking(&mut self, text: String, out: &mut ModelEventQueue) {
        if text.is_empty() {
            return;
        }
        self.switch_part(OpenChatPart::Thinking, out);
        self.thinking.push_str(&text);
        out.push_back(ModelEvent::Thinking(text));
    }

    /// Keeps the items of `reasoning_details`. They belong to the thinking, and may come without a word of it.
    fn push_reasoning_details(&mut self, details: &RawValue, out: &mut ModelEventQueue) {
        let Ok(items) = serde_json::from_str::<Vec<JsonObject>>(details.get()) else { return };
        if !items.is_empty() {
            self.switch_part(OpenChatPart::Thinking, out);
            items.into_iter().for_each(|item| reasoning_details::add_item(&mut self.details, item));
        }
    }

    /// Closes the open part if a different one begins.
    fn switch_part(&mut self, open: OpenChatPart, out: &mut ModelEventQueue) {
        if self.open == open {
            return;
        }
        match std::mem::replace(&mut self.open, open) {
            OpenChatPart::Nothing => {}
            OpenChatPart::Text => {
                out.push_back(ModelEvent::Part(MessagePart::text(std::mem::take(&mut self.text))))
            }
            OpenChatPart::Thinking => {
                let data = reasoning_details::opaque_data(std::mem::take(&mut self.details));
                let opaque = Some(self.state.opaque(data));
                let text = std::mem::take(&mut self.thinking);
                out.push_back(ModelEvent::Part(MessagePart::Thinking { text, opaque }));
            }
        }
    }

    fn tool_call(&self, call: AssembledToolCall) -> ToolCall {
        let AssembledToolCall { name, arguments, is_cut, data } = call;
        let arguments = match &self.argument_tools {
            Some(tools) if !is_cut => tools.restore_arguments(&name, arguments),
            _ => arguments,
        };
        ToolCall {
            id: CallId::new(),
            name,
            arguments,
            is_cut,
            opaque: data.map(|data| self.state.opaque(data)),
        }
    }

    fn finish_reason(&self, reason: &str) -> Result<FinishReason, AttemptFailure> {
        Ok(match reason {
            "stop" | "eos" | "end_turn" => FinishReason::Stop,
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            "length" | "max_tokens" => FinishReason::Length,
            // Mistral's word for it.
            "model_length" => FinishReason::ContextExceeded,
            "content_filter" => FinishReason::Refused,
            // OpenRouter's and Mistral's, and DeepSeek's, for an answer that failed in its middle.
            "error" | "insufficient_system_resource" => {
                return Err(self.state.provider_failure(&ProviderErrorBody::new("server_error", reason)));
            }
            other => FinishReason::other(other),
        })
    }
}

impl ResponseDecoder for ChatCompletionsDecoder {
    fn state(&self) -> &DecoderState {
        &self.state
    }

    fn decode_event(
        &mut self,
        event: &SseEvent<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        match self.state.event_data(event)? {
            None => {}
            Some(DONE_MARKER) if self.finish.is_none() && !self.has_output() => {
                return Err(failure::empty_response(&self.state.config));
            }
            Some(DONE_MARKER) => self.finish_response(out),
            Some(data) => self.chunk(data, out)?,
        }
        Ok(())
    }

    fn decode_whole(&mut self, body: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        let answer = self.parse(body)?;
        let choice = answer.choices.into_iter().flatten().next();
        let Some(choice) = choice else {
            return Err(self.state.protocol_failure("the response has no choices", body));
        };
        self.state.start(answer.model.as_deref(), out);
        self.choice(choice, true, out)?;
        if let Some(usage) = &answer.usage {
            self.usage(usage, out);
        }
        self.finish_response(out);
        Ok(())
    }

    fn finish_response(&mut self, out: &mut ModelEventQueue) {
        self.state.start(None, out);
        if let Some(rest) = self.inline.finish() {
            self.push_segment(rest, out);
        }
        self.switch_part(OpenChatPart::Nothing, out);
        let finish = self.finish.take();
        let calls = self.calls.finish(finish.as_ref());
        let has_calls = !calls.is_empty();
        for call in calls {
            out.push_back(ModelEvent::Part(MessagePart::ToolCall(self.tool_call(call))));
        }
        let reason = match finish {
            Some(FinishReason::Stop) | None if has_calls => FinishReason::ToolCalls,
            Some(FinishReason::ToolCalls) if !has_calls => FinishReason::MalformedToolCall,
            Some(FinishReason::Stop) | None if self.refused => FinishReason::Refused,
            Some(reason) => reason,
            None => FinishReason::Stop,
        };
        self.state.end(reason, out);
    }
}
