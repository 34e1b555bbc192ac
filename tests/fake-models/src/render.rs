//! Answers as each API writes them. Here, the steps of a script become parts with a beginning, deltas and an end;
//! the modules below write these down.

mod anthropic;
mod gemini;
mod openai;
mod responses;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

pub(crate) use self::openai::CREATED;

use crate::answer::{Answer, Finish, Step, ToolCall, Usage};
use crate::api::Api;
use crate::error::ApiError;
use crate::ids::Ids;
use crate::quirks::Quirks;

/// What of a request an answer depends on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// The model's id, which the answer repeats.
    pub(crate) model: String,
    /// OpenAI's chunks carry a usage only where the request wants it.
    pub(crate) include_usage: bool,
    /// The request forces one particular tool.
    pub(crate) forces_tool: bool,
    /// Responses: `include` has `reasoning.encrypted_content`.
    pub(crate) encrypted_reasoning: bool,
    /// Gemini: the request wants to see thoughts; elsewhere they are shown where the script has any.
    pub(crate) thoughts: bool,
    /// Gemini: the model signs its calls even where the script shows no thinking.
    pub(crate) signs: bool,
    /// Responses: the request's body, much of which the answer repeats.
    pub(crate) request: Value,
    /// The tokens that will be reported: Anthropic says those read at the start.
    pub(crate) usage: Option<Usage>,
    /// Responses: where to note which reasoning item came right before an item, by their ids.
    pub(crate) issued: Arc<Mutex<HashMap<String, String>>>,
}

/// The kind of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text,
    Refusal,
    Thinking,
    HiddenThinking,
    /// With its provider's id, where the script gives one.
    ToolCall {
        name: String,
        id: Option<String>,
    },
}

/// Something to be written.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    Begin,
    Open(&'a Part),
    Delta(&'a str),
    Close,
    /// Calls whose deltas come together.
    Together(&'a [ToolCall]),
    Ping,
    Error(&'a ApiError),
    End {
        finish: &'a Finish,
        usage: Option<Usage>,
    },
}

/// Writes one answer.
pub(crate) trait Renderer: Send {
    /// Appends what is sent for this piece of a stream.
    fn stream(&mut self, piece: Piece<'_>, out: &mut String);

    /// The whole answer as one JSON text, from pieces that went through [`Renderer::stream`].
    fn whole(&mut self) -> Value;
}

/// The renderer of an API.
pub(crate) fn renderer(api: Api, asked: Asked, ids: Ids, quirks: &Quirks) -> Box<dyn Renderer> {
    match api {
        Api::Openai => Box::new(openai::Chat::new(asked, ids, Quirks::default(), true)),
        Api::Compatible => Box::new(openai::Chat::new(asked, ids, quirks.clone(), false)),
        Api::OpenaiResponses => Box::new(responses::Responses::new(asked, ids)),
        Api::Anthropic => Box::new(anthropic::Messages::new(asked, ids)),
        Api::Gemini => Box::new(gemini::Generate::new(asked, ids)),
    }
}

/// Turns steps into pieces.
pub(crate) struct Writer {
    api: Api,
    renderer: Box<dyn Renderer>,
    open: Option<Part>,
    begun: bool,
}

impl Writer {
    pub(crate) fn new(api: Api, renderer: Box<dyn Renderer>) -> Self {
        Self { api, renderer, open: None, begun: false }
    }

    /// What is sent for one step. Steps that say nothing (gates, cuts) are none of its affair.
    pub(crate) fn step(&mut self, step: &Step, out: &mut String) {
        self.begin(out);
        match step {
            Step::Text(text) => self.delta(Part::Text, text, out),
            Step::Thinking(text) => self.delta(Part::Thinking, text, out),
            Step::Refusal(text) => self.delta(Part::Refusal, text, out),
            Step::HiddenThinking => {
                self.open(Part::HiddenThinking, out);
                self.close(out);
            }
            Step::ToolCall(call) => {
                // Two calls in a row are two parts, though of one kind.
                self.close(out);
                self.open(Part::ToolCall { name: call.name.clone(), id: call.id.clone() }, out);
                for fragment in call.sent_fragments() {
                    self.renderer.stream(Piece::Delta(&fragment), out);
                }
                self.close(out);
            }
            Step::Together(calls) => {
                self.close(out);
                self.renderer.stream(Piece::Together(calls), out);
            }
            Step::Ping => self.renderer.stream(Piece::Ping, out),
            Step::Error(failure) => {
                let error = ApiError::scripted(self.api, failure);
                self.renderer.stream(Piece::Error(&error), out);
            }
            Step::Raw(text) => out.push_str(text),
            Step::Tokens(_) | Step::Gate(_) | Step::Mark(_) | Step::Cut | Step::Silence => {}
        }
    }

    /// What is sent before anything else.
    pub(crate) fn begin(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.begun, true) {
            self.renderer.stream(Piece::Begin, out);
        }
    }

    /// What is sent at the end.
    pub(crate) fn end(&mut self, answer: &Answer, out: &mut String) {
        self.begin(out);
        self.close(out);
        self.renderer.stream(Piece::End { finish: &answer.finish_reason(), usage: answer.usage }, out);
    }

    /// The whole of an answer at once, for a request that does not stream.
    pub(crate) fn whole(mut self, answer: &Answer) -> Value {
        let mut unused = String::new();
        for step in &answer.steps {
            match step {
                Step::Tokens(tokens) => {
                    for number in 0..tokens.count {
                        self.step(&Step::Text(token_text(&tokens.text, number, 0)), &mut unused);
                    }
                }
                step => self.step(step, &mut unused),
            }
        }
        self.end(answer, &mut unused);
        self.renderer.whole()
    }

    fn delta(&mut self, part: Part, text: &str, out: &mut String) {
        if self.open.as_ref() != Some(&part) {
            self.close(out);
            self.open(part, out);
        }
        self.renderer.stream(Piece::Delta(text), out);
    }

    fn open(&mut self, part: Part, out: &mut String) {
        self.close(out);
        self.renderer.stream(Piece::Open(&part), out);
        self.open = Some(part);
    }

    fn close(&mut self, out: &mut String) {
        if self.open.take().is_some() {
            self.renderer.stream(Piece::Close, out);
        }
    }
}

/// The bytes of the stream that a request gets this answer in, where it asks for everything that the API can say (a
/// usage, thoughts, encrypted reasoning). Gates, marks and the speed of tokens do not count; a step that ends the
/// stream ends it here too.
#[must_use]
pub fn rendered(api: Api, answer: &Answer) -> String {
    let asked = Asked {
        model: "fake-model".to_owned(),
        include_usage: true,
        encrypted_reasoning: true,
        thoughts: true,
        usage: answer.usage,
        ..Asked::default()
    };
    let mut writer = Writer::new(api, renderer(api, asked, Ids::default(), &Quirks::default()));
    let mut out = String::new();
    for step in &answer.steps {
        match step {
            Step::Cut | Step::Silence => return out,
            Step::Error(_) => {
                writer.step(step, &mut out);
                return out;
            }
            Step::Tokens(tokens) => {
                for number in 0..tokens.count {
                    writer.step(&Step::Text(token_text(&tokens.text, number, 0)), &mut out);
                }
            }
            step => writer.step(step, &mut out),
        }
    }
    writer.end(answer, &mut out);
    out
}

/// The text of a token; see [`crate::answer::Tokens::text`].
pub(crate) fn token_text(pattern: &str, number: usize, micros: u128) -> String {
    pattern.replace("{n}", &number.to_string()).replace("{micros}", &micros.to_string())
}

/// An event of a stream, with its name where the API gives one.
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
