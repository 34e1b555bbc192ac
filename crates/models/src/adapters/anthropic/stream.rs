//! Decoder for the responses of Messages.
//!
//! A tool call is emitted only when the reason for the end of the message is known: if the model ran out of tokens
//! inside its arguments, the call is cut, whatever its text looks like (pitfall M10).

use std::collections::BTreeMap;
use std::sync::Arc;

use toolway_types::CallId;

use super::event::{
    AnthropicUsage, MessageContentBlock, MessageResponse, MessageStreamDelta, MessageStreamEvent,
};
use super::output::OutputConstraint;
use super::tool;
use crate::call_arguments::is_object;
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::AttemptFailure;
use crate::message::{MessagePart, OpaqueState, ToolCall};
use crate::opaque::OpaquePayload;
use crate::request::ModelRequest;
use crate::response::{DecoderState, MAX_RESPONSE_ITEMS, ModelEventQueue, ResponseDecoder, ResponseProgress};
use crate::tools::{ConvertedTools, ToolSet};
use crate::transport::SseEvent;
use crate::usage::ModelUsage;

/// Decodes one response.
pub(super) struct MessageDecoder {
    state: DecoderState,
    tools: Arc<ToolSet>,
    converted: Arc<ConvertedTools>,
    /// Tool whose arguments are the structured output.
    answer_tool: Option<String>,
    /// Open blocks by index.
    open: BTreeMap<u64, OpenBlock>,
    blocks: usize,
    calls: usize,
    /// Complete parts that wait for the end of the message: the first call and everything after it.
    pending: Vec<PendingPart>,
    usage: AnthropicUsage,
    stop: Option<String>,
}

/// An open block.
#[derive(Debug)]
enum OpenBlock {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call(OpenToolUse),
    /// Arguments of the tool that stands for a structured output.
    Answer(String),
    /// A block of an unknown type.
    Other,
}

#[derive(Debug)]
struct OpenToolUse {
    at: usize,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug)]
enum PendingPart {
    Part(MessagePart),
    Call(OpenToolUse),
}

impl MessageDecoder {
    pub(super) fn new(config: &Arc<ProviderConfig>, request: &ModelRequest) -> Self {
        let answer_tool = match OutputConstraint::for_request(request) {
            OutputConstraint::Tool { name, .. } => Some(name),
            _ => None,
        };
        Self {
            state: DecoderState::new(config, request),
            tools: Arc::clone(&request.tools),
            converted: tool::convert_tools(request),
            answer_tool,
            open: BTreeMap::new(),
            blocks: 0,
            calls: 0,
            pending: Vec::new(),
            usage: AnthropicUsage::default(),
            stop: None,
        }
    }

    fn message_start(&mut self, message: MessageResponse<'_>, out: &mut ModelEventQueue) {
        self.state.start(message.model.as_deref(), out);
        if let Some(usage) = message.usage {
            // What is said of the output here is the first token's.
            self.update_usage(AnthropicUsage { output_tokens: None, ..usage }, out);
        }
    }

    fn block_start(
        &mut self,
        index: u64,
        block: MessageContentBlock<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        self.state.start(None, out);
        self.blocks += 1;
        if self.blocks > MAX_RESPONSE_ITEMS {
            let what = format!("the response has more than {MAX_RESPONSE_ITEMS} blocks");
            return Err(self.state.protocol_failure(&what, ""));
        }
        let name = block.name.unwrap_or_default();
        let open = match &*block.r#type {
            "text" => {
                let text = block.text.unwrap_or_default();
                push_text(&text, out);
                OpenBlock::Text(text)
            }
            "thinking" => {
                let text = block.thinking.unwrap_or_default();
                push_thinking(&text, out);
                OpenBlock::Thinking { text, signature: block.signature.unwrap_or_default() }
            }
            "redacted_thinking" => OpenBlock::Redacted(block.data.unwrap_or_default()),
            "tool_use" => {
                // Some give all of it at once.
                let input =
                    block.input.map(|input| input.get().trim()).filter(|input| !is_empty_object(input));
                let arguments = input.unwrap_or_default().to_owned();
                if self.answer_tool.as_deref() == Some(&*name) {
                    push_text(&arguments, out);
                    OpenBlock::Answer(arguments)
                } else {
                    OpenBlock::Call(self.call_start(block.id.unwrap_or_default(), &name, arguments, out))
                }
            }
            _ => OpenBlock::Other,
        };
        // What is begun again was whole before.
        if let Some(earlier) = self.open.insert(index, open) {
            self.whole_block(earlier, out);
        }
        Ok(())
    }

    fn call_start(
        &mut self,
        id: String,
        name: &str,
        arguments: String,
        out: &mut ModelEventQueue,
    ) -> OpenToolUse {
        let (at, name) = (self.calls, self.tools.original_name(name).to_owned());
        self.calls += 1;
        out.push_back(ModelEvent::ToolCallStarted { index: at, name: name.clone() });
        if !arguments.is_empty() {
            out.push_back(ModelEvent::ToolCallArguments { index: at, delta: arguments.clone() });
        }
        OpenToolUse { at, id, name, arguments }
    }

    fn block_delta(&mut self, index: u64, delta: MessageStreamDelta<'_>, out: &mut ModelEventQueue) {
        match (self.open.get_mut(&index), &*delta.r#type) {
            (Some(OpenBlock::Text(text)), "text_delta") => {
                let more = delta.text.unwrap_or_default();
                text.push_str(&more);
                push_text(&more, out);
            }
            (Some(OpenBlock::Thinking { text, .. }), "thinking_delta") => {
                let more = delta.thinking.unwrap_or_default();
                text.push_str(&more);
                push_thinking(&more, out);
            }
            (Some(OpenBlock::Thinking { signature, .. }), "signature_delta") => {
                signature.push_str(&delta.signature.unwrap_or_default());
            }
            (Some(OpenBlock::Call(call)), "input_json_delta") => {
                let more = delta.partial_json.unwrap_or_default();
                if !more.is_empty() {
                    call.arguments.push_str(&more);
                    out.push_back(ModelEvent::ToolCallArguments { index: call.at, delta: more });
                }
            }
            (Some(OpenBlock::Answer(answer)), "input_json_delta") => {
                let more = delta.partial_json.unwrap_or_default();
                answer.push_str(&more);
                push_text(&more, out);
            }
            _ => {}
        }
    }

    fn whole_block(&mut self, open: OpenBlock, out: &mut ModelEventQueue) {
        let part = match open {
            OpenBlock::Other => return,
            OpenBlock::Text(text) | OpenBlock::Answer(text) if text.is_empty() => return,
            OpenBlock::Text(text) | OpenBlock::Answer(text) => MessagePart::text(text),
            OpenBlock::Thinking { text, signature } => {
                let opaque = (!signature.is_empty()).then(|| {
                    self.opaque(OpaquePayload { signature: Some(signature), ..OpaquePayload::default() })
                });
                MessagePart::Thinking { text, opaque }
            }
            OpenBlock::Redacted(data) => {
                let opaque = self.opaque(OpaquePayload { redacted: Some(data), ..OpaquePayload::default() });
                MessagePart::Thinking { text: String::new(), opaque: Some(opaque) }
            }
            OpenBlock::Call(call) => {
                self.pending.push(PendingPart::Call(call));
                return;
            }
        };
        if self.pending.is_empty() {
            out.push_back(ModelEvent::Part(part));
        } else {
            self.pending.push(PendingPart::Part(part));
        }
    }

    fn message_delta(
        &mut self,
        delta: Option<MessageStreamDelta<'_>>,
        usage: Option<AnthropicUsage>,
        out: &mut ModelEventQueue,
    ) {
        if let Some(usage) = usage {
            self.update_usage(usage, out);
        }
        if let Some(reason) = delta.and_then(|delta| delta.stop_reason) {
            self.stop = Some(reason);
            self.state.progress = ResponseProgress::TrailingUsage;
        }
    }

    /// Takes numbers, each of which is about the whole message so far.
    fn update_usage(&mut self, later: AnthropicUsage, out: &mut ModelEventQueue) {
        let now = &mut self.usage;
        now.input_tokens = later.input_tokens.or(now.input_tokens);
        now.cache_read_input_tokens = later.cache_read_input_tokens.or(now.cache_read_input_tokens);
        now.cache_creation_input_tokens =
            later.cache_creation_input_tokens.or(now.cache_creation_input_tokens);
        now.output_tokens = later.output_tokens.or(now.output_tokens);
        let thinking = later.output_tokens_details.thinking_tokens;
        now.output_tokens_details.thinking_tokens = thinking.or(now.output_tokens_details.thinking_tokens);
        let (read, created) = (now.cache_read_input_tokens, now.cache_creation_input_tokens);
        let cached = read.unwrap_or(0).saturating_add(created.unwrap_or(0));
        let usage = ModelUsage {
            input: now.input_tokens.map(|input| input.saturating_add(cached)),
            output: now.output_tokens,
            cached: read,
            cache_written: created,
            reasoning: now.output_tokens_details.thinking_tokens,
        };
        if usage != ModelUsage::default() {
            out.push_back(ModelEvent::Usage(usage));
        }
    }

    fn tool_call(&self, call: OpenToolUse, is_complete: bool) -> ToolCall {
        let OpenToolUse { id, name, arguments, .. } = call;
        let is_cut = !is_complete && !is_object(&arguments);
        let arguments = if is_cut { arguments } else { self.converted.restore_arguments(&name, arguments) };
        let opaque =
            (!id.is_empty()).then(|| self.opaque(OpaquePayload { id: Some(id), ..OpaquePayload::default() }));
        ToolCall { id: CallId::new(), name, arguments, is_cut, opaque }
    }

    fn opaque(&self, kept: OpaquePayload) -> OpaqueState {
        OpaquePayload { model: Arc::clone(&self.state.model), ..kept }.to_opaque(&self.state.config)
    }
}

fn push_text(text: &str, out: &mut ModelEventQueue) {
    if !text.is_empty() {
        out.push_back(ModelEvent::Text(text.to_owned()));
    }
}

fn push_thinking(text: &str, out: &mut ModelEventQueue) {
    if !text.is_empty() {
        out.push_back(ModelEvent::Thinking(text.to_owned()));
    }
}

fn is_empty_object(text: &str) -> bool {
    text == "null"
        || text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .is_some_and(|in_it| in_it.trim().is_empty())
}

impl ResponseDecoder for MessageDecoder {
    fn state(&self) -> &DecoderState {
        &self.state
    }

    fn decode_event(
        &mut self,
        event: &SseEvent<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        let Some(data) = self.state.event_data(event)?.filter(|_| event.name != "ping") else {
            return Ok(());
        };
        let event: MessageStreamEvent<'_> = self.state.parse(data)?;
        match (&*event.r#type, event.index, event.message, event.content_block, event.delta) {
            ("error", ..) => return Err(self.state.provider_failure_in(data)),
            ("message_start", _, Some(message), ..) => self.message_start(message, out),
            ("content_block_start", Some(index), _, Some(block), _) => self.block_start(index, block, out)?,
            ("content_block_delta", Some(index), _, _, Some(delta)) => self.block_delta(index, delta, out),
            ("content_block_stop", Some(index), ..) => {
                if let Some(open) = self.open.remove(&index) {
                    self.whole_block(open, out);
                }
            }
            ("message_delta", _, _, _, delta) => self.message_delta(delta, event.usage, out),
            ("message_stop", ..) => self.finish_response(out),
            _ => {}
        }
        Ok(())
    }

    fn decode_whole(&mut self, body: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        let message: MessageResponse<'_> = self.state.parse(body)?;
        let Some(content) = message.content else {
            return Err(self.state.incomplete_body("the response has no content", body));
        };
        self.state.start(message.model.as_deref(), out);
        for (index, block) in (0..).zip(content) {
            self.block_start(index, block, out)?;
            if let Some(open) = self.open.remove(&index) {
                self.whole_block(open, out);
            }
        }
        if let Some(usage) = message.usage {
            self.update_usage(usage, out);
        }
        self.stop = message.stop_reason;
        self.finish_response(out);
        Ok(())
    }

    fn finish_response(&mut self, out: &mut ModelEventQueue) {
        self.state.start(None, out);
        // A block that nobody ended is whole where the message is.
        for (_, open) in std::mem::take(&mut self.open) {
            self.whole_block(open, out);
        }
        let reason = self.stop.take().unwrap_or_default();
        let is_complete = matches!(reason.as_str(), "end_turn" | "tool_use" | "stop_sequence" | "");
        let held = std::mem::take(&mut self.pending);
        let has_calls = !held.is_empty();
        for held in held {
            let part = match held {
                PendingPart::Part(part) => part,
                PendingPart::Call(call) => MessagePart::ToolCall(self.tool_call(call, is_complete)),
            };
            out.push_back(ModelEvent::Part(part));
        }
        let reason = match reason.as_str() {
            _ if is_complete && has_calls => FinishReason::ToolCalls,
            "tool_use" if self.answer_tool.is_none() => FinishReason::MalformedToolCall,
            _ if is_complete => FinishReason::Stop,
            "max_tokens" => FinishReason::Length,
            "model_context_window_exceeded" => FinishReason::ContextExceeded,
            "refusal" => FinishReason::Refused,
            "pause_turn" => FinishReason::Paused,
            other => FinishReason::other(other),
        };
        self.state.end(reason, out);
    }
}
