//! Gemini: each chunk a whole `GenerateContentResponse`; function calls come whole, signatures on the part that
//! thinking led to.

use serde_json::{Value, json};

use super::{Asked, Part, Piece, Renderer};
use crate::answer::{Finish, ToolCall, Usage};
use crate::api::Api;
use crate::ids::Ids;
use crate::signatures;

pub(super) struct Generate {
    asked: Asked,
    id: String,
    part: Option<Part>,
    /// Arguments of the open call.
    arguments: String,
    /// Whether thinking came since the last signature: the next call, or the end of the text, carries one.
    owes_signature: bool,
    /// Whether this step has a signed call: only the first of parallel ones is.
    has_signed_call: bool,
    malformed: bool,
    /// Parts so far, deltas of a kind joined.
    parts: Vec<Value>,
    finish: Option<String>,
    usage: Option<Usage>,
    /// Whether a text is the last thing that was said, so that a signature comes in an empty text part at the end.
    ends_in_text: bool,
}

impl Generate {
    pub(super) fn new(asked: Asked, ids: Ids) -> Self {
        let id = ids.next("");
        let owes_signature = asked.signs;
        Self {
            asked,
            id,
            part: None,
            arguments: String::new(),
            owes_signature,
            has_signed_call: false,
            malformed: false,
            parts: Vec::new(),
            finish: None,
            usage: None,
            ends_in_text: false,
        }
    }

    fn chunk(&self, parts: &Value, finish: Option<&str>, usage: Option<Usage>, out: &mut String) {
        let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let response = self.response(candidate, usage);
        out.push_str("data: ");
        out.push_str(&response.to_string());
        out.push_str("\r\n\r\n");
    }

    fn response(&self, candidate: Value, usage: Option<Usage>) -> Value {
        let mut response = json!({
            "candidates": [candidate],
            "modelVersion": self.asked.model,
            "responseId": self.id,
        });
        if let Some(usage) = usage {
            response["usageMetadata"] = usage_json(usage);
        }
        response
    }

    fn put(&mut self, part: &Value, out: &mut String) {
        self.chunk(&json!([part]), None, None, out);
        let joined = match (self.parts.last_mut(), part.get("text").and_then(Value::as_str)) {
            (Some(last), Some(more)) if last.get("thought") == part.get("thought") => {
                last.get("text").and_then(Value::as_str).map(|text| format!("{text}{more}")).map(|text| {
                    last["text"] = json!(text);
                    if let Some(signature) = part.get("thoughtSignature") {
                        last["thoughtSignature"] = signature.clone();
                    }
                })
            }
            _ => None,
        };
        if joined.is_none() {
            self.parts.push(part.clone());
        }
        self.ends_in_text = part.get("text").is_some() && part.get("thought").is_none();
    }

    fn call_part(&mut self, name: &str, id: Option<&str>, arguments: &str) -> Option<Value> {
        let Ok(args @ Value::Object(_)) = serde_json::from_str::<Value>(arguments) else {
            self.malformed = true;
            return None;
        };
        let mut call = json!({"name": name, "args": args});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        let mut part = json!({"functionCall": call});
        if self.owes_signature && !self.has_signed_call {
            part["thoughtSignature"] = json!(signatures::of_call(name, &args));
            (self.has_signed_call, self.owes_signature) = (true, false);
        }
        Some(part)
    }

    fn together(&mut self, calls: &[ToolCall], out: &mut String) {
        let parts: Vec<_> = calls
            .iter()
            .filter_map(|call| self.call_part(&call.name, call.id.as_deref(), &call.text()))
            .collect();
        if !parts.is_empty() {
            self.chunk(&json!(parts), None, None, out);
            self.parts.extend(parts);
            self.ends_in_text = false;
        }
    }
}

/// Tokens as Gemini counts them: those of thinking are not among the candidates', and what is 0 is left out.
fn usage_json(usage: Usage) -> Value {
    let mut json = json!({
        "promptTokenCount": usage.input,
        "totalTokenCount": usage.input + usage.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    });
    let candidates = usage.output.saturating_sub(usage.reasoning);
    for (name, count) in [
        ("candidatesTokenCount", candidates),
        ("thoughtsTokenCount", usage.reasoning),
        ("cachedContentTokenCount", usage.cached),
    ] {
        if count > 0 {
            json[name] = json!(count);
        }
    }
    json
}

fn finish_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop | Finish::ToolCalls | Finish::Paused => "STOP",
        Finish::Length | Finish::ContextExceeded => "MAX_TOKENS",
        Finish::Refused => "SAFETY",
        Finish::MalformedToolCall => "MALFORMED_FUNCTION_CALL",
        Finish::Other(word) => word,
    }
}

impl Renderer for Generate {
    fn stream(&mut self, piece: Piece<'_>, out: &mut String) {
        match piece {
            Piece::Begin | Piece::Ping => {}
            Piece::Open(part) => {
                self.part = Some(part.clone());
                self.arguments.clear();
                if matches!(part, Part::Thinking | Part::HiddenThinking) {
                    self.owes_signature = true;
                }
            }
            Piece::Delta(text) => match self.part {
                Some(Part::Text | Part::Refusal) => self.put(&json!({"text": text}), out),
                Some(Part::Thinking) if self.asked.thoughts => {
                    self.put(&json!({"text": text, "thought": true}), out);
                }
                Some(Part::ToolCall { .. }) => self.arguments.push_str(text),
                Some(Part::Thinking | Part::HiddenThinking) | None => {}
            },
            Piece::Close => {
                if let Some(Part::ToolCall { name, id }) = self.part.take() {
                    let arguments = std::mem::take(&mut self.arguments);
                    if let Some(part) = self.call_part(&name, id.as_deref(), &arguments) {
                        self.put(&part, out);
                    }
                }
            }
            Piece::Together(calls) => self.together(calls, out),
            Piece::Error(error) => out.push_str(&error.event(Api::Gemini, 0)),
            Piece::End { finish, usage } => {
                let finish = if self.malformed { &Finish::MalformedToolCall } else { finish };
                let finish = finish_reason(finish).to_owned();
                if self.owes_signature && self.ends_in_text {
                    let last = json!({"text": "", "thoughtSignature": signatures::of_text()});
                    self.chunk(&json!([last]), Some(&finish), usage, out);
                    if let Some(part) = self.parts.last_mut() {
                        part["thoughtSignature"] = json!(signatures::of_text());
                    }
                } else {
                    self.chunk(&json!([{"text": ""}]), Some(&finish), usage, out);
                }
                (self.finish, self.usage) = (Some(finish), usage);
            }
        }
    }

    fn whole(&mut self) -> Value {
        let content = json!({"parts": self.parts, "role": "model"});
        let mut candidate = json!({"content": content, "index": 0});
        if self.parts.is_empty() {
            candidate["content"] = json!({});
        }
        if let Some(finish) = &self.finish {
            candidate["finishReason"] = json!(finish);
        }
        self.response(candidate, self.usage)
    }
}
