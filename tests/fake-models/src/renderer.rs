//! Renders answers in each API's format. This module converts the steps of a script to parts with a start,
//! deltas and an end; the submodules write them.

mod anthropic;
mod gemini;
mod openai;
mod responses;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

pub(crate) use self::openai::CREATED;

use crate::api::ApiKind;
use crate::error::ProviderApiError;
use crate::ids::IdSequence;
use crate::quirks::ApiQuirks;
use crate::scripted_response::{
    ResponseStep, ScriptedFinish, ScriptedResponse, ScriptedToolCall, ScriptedUsage,
};

/// The parameters of a request that an answer depends on.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderParams {
    /// Id of the model, which the answer repeats.
    pub(crate) model: String,
    /// OpenAI's chunks contain usage only if the request asks for it.
    pub(crate) include_usage: bool,
    /// True if the request forces one particular tool.
    pub(crate) forces_tool: bool,
    /// Responses: `include` has `reasoning.encrypted_content`.
    pub(crate) encrypted_reasoning: bool,
    /// Gemini: true if the request asks for thoughts; other APIs always show those of the script.
    pub(crate) thoughts: bool,
    /// Gemini: true if the model signs its calls even without thinking in the script.
    pub(crate) signs_calls: bool,
    /// Responses: the request's body, much of which the answer repeats.
    pub(crate) request: Value,
    /// Reported tokens: Anthropic reports the input tokens at the start.
    pub(crate) usage: Option<ScriptedUsage>,
    /// Responses: records the reasoning item directly before each item, by their ids.
    pub(crate) issued: Arc<Mutex<HashMap<String, String>>>,
}

/// Kind of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RenderPart {
    Text,
    Refusal,
    Thinking,
    HiddenThinking,
    /// With the provider's id, if the script has one.
    ToolCall {
        name: String,
        id: Option<String>,
    },
}

/// A piece to write.
#[derive(Debug)]
pub(crate) enum RenderPiece<'a> {
    Begin,
    Open(&'a RenderPart),
    Delta(&'a str),
    Close,
    /// Calls whose deltas are in the same chunks.
    Together(&'a [ScriptedToolCall]),
    Ping,
    Error(&'a ProviderApiError),
    End {
        finish: &'a ScriptedFinish,
        usage: Option<ScriptedUsage>,
    },
}

/// Writer of one answer.
pub(crate) trait ResponseRenderer: Send {
    /// Appends the stream data for this piece.
    fn render_piece(&mut self, piece: RenderPiece<'_>, out: &mut String);

    /// Returns the whole answer as one JSON value, from pieces that were passed to
    /// [`ResponseRenderer::render_piece`].
    fn render_whole(&mut self) -> Value;
}

/// Creates the renderer of an API.
pub(crate) fn renderer(
    api: ApiKind,
    asked: RenderParams,
    ids: IdSequence,
    quirks: &ApiQuirks,
) -> Box<dyn ResponseRenderer> {
    match api {
        ApiKind::Openai => {
            Box::new(openai::ChatCompletionsRenderer::new(asked, ids, ApiQuirks::default(), true))
        }
        ApiKind::Compatible => {
            Box::new(openai::ChatCompletionsRenderer::new(asked, ids, quirks.clone(), false))
        }
        ApiKind::OpenaiResponses => Box::new(responses::ResponsesRenderer::new(asked, ids)),
        ApiKind::Anthropic => Box::new(anthropic::MessagesRenderer::new(asked, ids)),
        ApiKind::Gemini => Box::new(gemini::GeminiRenderer::new(asked, ids)),
    }
}

/// Converts steps to pieces.
pub(crate) struct StepWriter {
    api: ApiKind,
    renderer: Box<dyn ResponseRenderer>,
    open: Option<RenderPart>,
    has_begun: bool,
}

impl StepWriter {
    pub(crate) fn new(api: ApiKind, renderer: Box<dyn ResponseRenderer>) -> Self {
        Self { api, renderer, open: None, has_begun: false }
    }

    /// Appends the data for one step. Steps without data (gates, cuts) are handled elsewhere.
    pub(crate) fn step(&mut self, step: &ResponseStep, out: &mut String) {
        self.begin(out);
        match step {
            ResponseStep::Text(text) => self.delta(RenderPart::Text, text, out),
            ResponseStep::Thinking(text) => self.delta(RenderPart::Thinking, text, out),
            ResponseStep::Refusal(text) => self.delta(RenderPart::Refusal, text, out),
            ResponseStep::HiddenThinking => {
                self.open(RenderPart::HiddenThinking, out);
                self.close(out);
            }
            ResponseStep::ToolCall(call) => {
                // Two consecutive calls are two parts, although of one kind.
                self.close(out);
                self.open(RenderPart::ToolCall { name: call.name.clone(), id: call.id.clone() }, out);
                for fragment in call.sent_fragments() {
                    self.renderer.render_piece(RenderPiece::Delta(&fragment), out);
                }
                self.close(out);
            }
            ResponseStep::Together(calls) => {
                self.close(out);
                self.renderer.render_piece(RenderPiece::Together(calls), out);
            }
            ResponseStep::Ping => self.renderer.render_piece(RenderPiece::Ping, out),
            ResponseStep::Error(failure) => {
                let error = ProviderApiError::scripted(self.api, failure);
                self.renderer.render_piece(RenderPiece::Error(&error), out);
            }
            ResponseStep::Raw(text) => out.push_str(text),
            ResponseStep::Tokens(_)
            | ResponseStep::Gate(_)
            | ResponseStep::Mark(_)
            | ResponseStep::Cut
            | ResponseStep::Silence => {}
        }
    }

    /// Appends the start of a stream.
    pub(crate) fn begin(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.renderer.render_piece(RenderPiece::Begin, out);
        }
    }

    /// Appends the end of a stream.
    pub(crate) fn end(&mut self, answer: &ScriptedResponse, out: &mut String) {
        self.begin(out);
        self.close(out);
        self.renderer
            .render_piece(RenderPiece::End { finish: &answer.finish_reason(), usage: answer.usage }, out);
    }

    /// Returns the whole answer, for a request without streaming.
    pub(crate) fn write_whole(mut self, answer: &ScriptedResponse) -> Value {
        let mut unused = String::new();
        for step in &answer.steps {
            match step {
                ResponseStep::Tokens(tokens) => {
                    for number in 0..tokens.count {
                        self.step(&ResponseStep::Text(token_text(&tokens.text, number, 0)), &mut unused);
                    }
                }
                step => self.step(step, &mut unused),
            }
        }
        self.end(answer, &mut unused);
        self.renderer.render_whole()
    }

    fn delta(&mut self, part: RenderPart, text: &str, out: &mut String) {
        if self.open.as_ref() != Some(&part) {
            self.close(out);
            self.open(part, out);
        }
        self.renderer.render_piece(RenderPiece::Delta(text), out);
    }

    fn open(&mut self, part: RenderPart, out: &mut String) {
        self.close(out);
        self.renderer.render_piece(RenderPiece::Open(&part), out);
        self.open = Some(part);
    }

    fn close(&mut self, out: &mut String) {
        if self.open.take().is_some() {
            self.renderer.render_piece(RenderPiece::Close, out);
        }
    }
}

/// Returns the stream of this answer for a request that asks for everything that the API can send (usage,
/// thoughts, encrypted reasoning). Ignores gates, marks and the speed of tokens; a step that ends the stream
/// ends it here too.
#[must_use]
pub fn render_stream(api: ApiKind, answer: &ScriptedResponse) -> String {
    let asked = RenderParams {
        model: "fake-model".to_owned(),
        include_usage: true,
        encrypted_reasoning: true,
        thoughts: true,
        usage: answer.usage,
        ..RenderParams::default()
    };
    let mut writer = StepWriter::new(api, renderer(api, asked, IdSequence::default(), &ApiQuirks::default()));
    let mut out = String::new();
    for step in &answer.steps {
        match step {
            ResponseStep::Cut | ResponseStep::Silence => return out,
            ResponseStep::Error(_) => {
                writer.step(step, &mut out);
                return out;
            }
            ResponseStep::Tokens(tokens) => {
                for number in 0..tokens.count {
                    writer.step(&ResponseStep::Text(token_text(&tokens.text, number, 0)), &mut out);
                }
            }
            step => writer.step(step, &mut out),
        }
    }
    writer.end(answer, &mut out);
    out
}

/// Returns the text of a token; see [`crate::PacedTokens::text`].
pub(crate) fn token_text(pattern: &str, number: usize, micros: u128) -> String {
    pattern.replace("{n}", &number.to_string()).replace("{micros}", &micros.to_string())
}

/// Appends a stream event, with its name if the API has names.
pub(crate) fn event(name: Option<&str>, data: &Value, out: &mut String) {
    if let Some(name) = name {
        out.push_str("event: ");
        out.push_str(name);
        out.push('\n');
    }
    out.push_str("data: ");
    out.push_str(&data.to_string());
    out.push_str("\n\n");
}
