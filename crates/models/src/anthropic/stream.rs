//! Understands the answers of Messages.
//!
//! A tool call is given out when it is known why the message ended: one in whose arguments the tokens ran out is cut,
//! whatever its text looks like (pitfall M10).

use std::collections::BTreeMap;
use std::sync::Arc;

use toolway_types::CallId;

use super::event::{Block, Delta, Event, WireMessage, WireUsage};
use super::output::Output;
use super::tool;
use crate::answer::{Decoder, Events, Progress, not_understood};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, Failure, Said};
use crate::message::{Opaque, Part, ToolCall};
use crate::opaque::Kept;
use crate::openai::is_object;
use crate::request::ModelRequest;
use crate::tools::{ConvertedTools, ToolSet};
use crate::transport::SseEvent;
use crate::usage::Usage;

/// Most blocks in one answer.
const MAX_BLOCKS: usize = 1_024;

/// The decoder.
pub(super) struct MessageDecoder {
    config: Arc<ProviderConfig>,
    model: Arc<str>,
    tools: Arc<ToolSet>,
    converted: Arc<ConvertedTools>,
    /// The tool whose arguments are the answer.
    answer_tool: Option<String>,
    progress: Progress,
    started: bool,
    /// Blocks that are under way, by their index.
    open: BTreeMap<u64, Open>,
    blocks: usize,
    calls: usize,
    /// Whole parts that wait until it is known why the message ended: the first call and what follows it.
    held: Vec<Held>,
    usage: WireUsage,
    stop: Option<String>,
}

/// A block that is under way.
#[derive(Debug)]
enum Open {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call(Call),
    /// The arguments of the tool that is the answer.
    Answer(String),
    /// What is not known here.
    Other,
}

#[derive(Debug)]
struct Call {
    at: usize,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Debug)]
enum Held {
    Part(Part),
    Call(Call),
}

impl MessageDecoder {
    pub(super) fn new(config: Arc<ProviderConfig>, request: &ModelRequest) -> Self {
        let answer_tool = match Output::of(request) {
            Output::Tool { name, .. } => Some(name),
            _ => None,
        };
        Self {
            config,
            model: Arc::clone(&request.model),
            tools: Arc::clone(&request.tools),
            converted: tool::converted(request),
            answer_tool,
            progress: Progress::Going,
            started: false,
            open: BTreeMap::new(),
            blocks: 0,
            calls: 0,
            held: Vec::new(),
            usage: WireUsage::default(),
            stop: None,
        }
    }

    fn start(&mut self, model: Option<String>, out: &mut Events) {
        if !self.started {
            self.started = true;
            out.push_back(ModelEvent::Started { model: model.filter(|model| !model.is_empty()) });
        }
    }

    fn message_start(&mut self, message: WireMessage<'_>, out: &mut Events) {
        self.start(message.model, out);
        if let Some(usage) = message.usage {
            // What is said of the output here is the first token's.
            self.count(WireUsage { output_tokens: None, ..usage }, out);
        }
    }

    fn block_start(&mut self, index: u64, block: Block<'_>, out: &mut Events) -> Result<(), Failure> {
        self.start(None, out);
        self.blocks += 1;
        if self.blocks > MAX_BLOCKS {
            let what = format!("the answer has more than {MAX_BLOCKS} blocks");
            return Err(failure::protocol(&self.config, &what, ""));
        }
        let name = block.name.unwrap_or_default();
        let open = match &*block.r#type {
            "text" => {
                let text = block.text.unwrap_or_default();
                say(&text, out);
                Open::Text(text)
            }
            "thinking" => {
                let text = block.thinking.unwrap_or_default();
                think(&text, out);
                Open::Thinking { text, signature: block.signature.unwrap_or_default() }
            }
            "redacted_thinking" => Open::Redacted(block.data.unwrap_or_default()),
            "tool_use" => {
                // Some give all of it at once.
                let input =
                    block.input.map(|input| input.get().trim()).filter(|input| !is_empty_object(input));
                let arguments = input.unwrap_or_default().to_owned();
                if self.answer_tool.as_deref() == Some(&*name) {
                    say(&arguments, out);
                    Open::Answer(arguments)
                } else {
                    Open::Call(self.call_start(block.id.unwrap_or_default(), &name, arguments, out))
                }
            }
            _ => Open::Other,
        };
        // What is begun again was whole before.
        if let Some(earlier) = self.open.insert(index, open) {
            self.whole_block(earlier, out);
        }
        Ok(())
    }

    fn call_start(&mut self, id: String, name: &str, arguments: String, out: &mut Events) -> Call {
        let (at, name) = (self.calls, self.tools.name_of(name).to_owned());
        self.calls += 1;
        out.push_back(ModelEvent::ToolCallStarted { index: at, name: name.clone() });
        if !arguments.is_empty() {
            out.push_back(ModelEvent::ToolCallArguments { index: at, delta: arguments.clone() });
        }
        Call { at, id, name, arguments }
    }

    fn block_delta(&mut self, index: u64, delta: Delta<'_>, out: &mut Events) {
        match (self.open.get_mut(&index), &*delta.r#type) {
            (Some(Open::Text(text)), "text_delta") => {
                let more = delta.text.unwrap_or_default();
                text.push_str(&more);
                say(&more, out);
            }
            (Some(Open::Thinking { text, .. }), "thinking_delta") => {
                let more = delta.thinking.unwrap_or_default();
                text.push_str(&more);
                think(&more, out);
            }
            (Some(Open::Thinking { signature, .. }), "signature_delta") => {
                signature.push_str(&delta.signature.unwrap_or_default());
            }
            (Some(Open::Call(call)), "input_json_delta") => {
                let more = delta.partial_json.unwrap_or_default();
                if !more.is_empty() {
                    call.arguments.push_str(&more);
                    out.push_back(ModelEvent::ToolCallArguments { index: call.at, delta: more });
                }
            }
            (Some(Open::Answer(answer)), "input_json_delta") => {
                let more = delta.partial_json.unwrap_or_default();
                answer.push_str(&more);
                say(&more, out);
            }
            _ => {}
        }
    }

    fn whole_block(&mut self, open: Open, out: &mut Events) {
        let part = match open {
            Open::Other => return,
            Open::Text(text) | Open::Answer(text) if text.is_empty() => return,
            Open::Text(text) | Open::Answer(text) => Part::text(text),
            Open::Thinking { text, signature } => {
                let opaque = (!signature.is_empty())
                    .then(|| self.opaque(Kept { signature: Some(signature), ..Kept::default() }));
                Part::Thinking { text, opaque }
            }
            Open::Redacted(data) => {
                let opaque = self.opaque(Kept { redacted: Some(data), ..Kept::default() });
                Part::Thinking { text: String::new(), opaque: Some(opaque) }
            }
            Open::Call(call) => {
                self.held.push(Held::Call(call));
                return;
            }
        };
        if self.held.is_empty() {
            out.push_back(ModelEvent::Part(part));
        } else {
            self.held.push(Held::Part(part));
        }
    }

    fn message_delta(&mut self, delta: Option<Delta<'_>>, usage: Option<WireUsage>, out: &mut Events) {
        if let Some(usage) = usage {
            self.count(usage, out);
        }
        if let Some(reason) = delta.and_then(|delta| delta.stop_reason) {
            self.stop = Some(reason);
            self.progress = Progress::Closing;
        }
    }

    /// Takes numbers, each of which is about the whole message so far.
    fn count(&mut self, later: WireUsage, out: &mut Events) {
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
        let usage = Usage {
            input: now.input_tokens.map(|input| input.saturating_add(cached)),
            output: now.output_tokens,
            cached: read,
            cache_written: created,
            reasoning: now.output_tokens_details.thinking_tokens,
        };
        if usage != Usage::default() {
            out.push_back(ModelEvent::Usage(usage));
        }
    }

    /// Gives out what waited, and the end.
    fn close(&mut self, out: &mut Events) {
        self.start(None, out);
        // A block that nobody ended is whole where the message is.
        for (_, open) in std::mem::take(&mut self.open) {
            self.whole_block(open, out);
        }
        let reason = self.stop.take().unwrap_or_default();
        let is_complete = matches!(reason.as_str(), "end_turn" | "tool_use" | "stop_sequence" | "");
        let held = std::mem::take(&mut self.held);
        let has_calls = !held.is_empty();
        for held in held {
            let part = match held {
                Held::Part(part) => part,
                Held::Call(call) => Part::ToolCall(self.tool_call(call, is_complete)),
            };
            out.push_back(ModelEvent::Part(part));
        }
        out.push_back(ModelEvent::Finished(match reason.as_str() {
            _ if is_complete && has_calls => FinishReason::ToolCalls,
            "tool_use" if self.answer_tool.is_none() => FinishReason::MalformedToolCall,
            _ if is_complete => FinishReason::Stop,
            "max_tokens" => FinishReason::Length,
            "model_context_window_exceeded" => FinishReason::ContextExceeded,
            "refusal" => FinishReason::Refused,
            "pause_turn" => FinishReason::Paused,
            other => FinishReason::Other(other.chars().take(64).collect()),
        }));
        self.progress = Progress::Over;
    }

    fn tool_call(&self, call: Call, is_complete: bool) -> ToolCall {
        let Call { id, name, arguments, .. } = call;
        let is_cut = !is_complete && !is_object(&arguments);
        let arguments = if is_cut { arguments } else { self.converted.restore(&name, arguments) };
        let opaque = (!id.is_empty()).then(|| self.opaque(Kept { id: Some(id), ..Kept::default() }));
        ToolCall { id: CallId::new(), name, arguments, is_cut, opaque }
    }

    fn opaque(&self, kept: Kept) -> Opaque {
        Kept { model: Arc::clone(&self.model), ..kept }.opaque(&self.config)
    }

    fn failed(&self, data: &str) -> Failure {
        let said = Said::in_text(data).unwrap_or_else(|| Said::new("", data));
        failure::in_stream(&self.config, &self.model, &said)
    }
}

fn say(text: &str, out: &mut Events) {
    if !text.is_empty() {
        out.push_back(ModelEvent::Text(text.to_owned()));
    }
}

fn think(text: &str, out: &mut Events) {
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

impl Decoder for MessageDecoder {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Events) -> Result<(), Failure> {
        let data = event.data.trim();
        if data.is_empty() || event.name == "ping" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(self.failed(data));
        }
        let event: Event<'_> = serde_json::from_str(data)
            .map_err(|problem| not_understood(&self.config, &self.model, data, &problem))?;
        match (&*event.r#type, event.index, event.message, event.content_block, event.delta) {
            ("error", ..) => return Err(self.failed(data)),
            ("message_start", _, Some(message), ..) => self.message_start(message, out),
            ("content_block_start", Some(index), _, Some(block), _) => self.block_start(index, block, out)?,
            ("content_block_delta", Some(index), _, _, Some(delta)) => self.block_delta(index, delta, out),
            ("content_block_stop", Some(index), ..) => {
                if let Some(open) = self.open.remove(&index) {
                    self.whole_block(open, out);
                }
            }
            ("message_delta", _, _, _, delta) => self.message_delta(delta, event.usage, out),
            ("message_stop", ..) => self.close(out),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Events) -> Result<(), Failure> {
        let message: WireMessage<'_> = serde_json::from_str(body)
            .map_err(|problem| not_understood(&self.config, &self.model, body, &problem))?;
        let Some(content) = message.content else {
            return Err(match Said::in_text(body) {
                Some(said) => failure::in_stream(&self.config, &self.model, &said),
                None => failure::protocol(&self.config, "the answer has no content", body),
            });
        };
        self.start(message.model, out);
        for (index, block) in (0..).zip(content) {
            self.block_start(index, block, out)?;
            if let Some(open) = self.open.remove(&index) {
                self.whole_block(open, out);
            }
        }
        if let Some(usage) = message.usage {
            self.count(usage, out);
        }
        self.stop = message.stop_reason;
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
