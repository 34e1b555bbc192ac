//! Gemini: each chunk is a whole `GenerateContentResponse`; function calls are sent in one piece, with
//! signatures on the part after thinking.

use serde_json::{Value, json};

use super::{RenderParams, RenderPart, RenderPiece, ResponseRenderer};
use crate::api::ApiKind;
use crate::ids::IdSequence;
use crate::scripted_response::{ScriptedFinish, ScriptedToolCall, ScriptedUsage};
use crate::signatures;

pub(super) struct GeminiRenderer {
    asked: RenderParams,
    id: String,
    part: Option<RenderPart>,
    /// Arguments of the open call.
    arguments: String,
    /// True if there was thinking since the last signature: the next call, or the end of the text, gets one.
    owes_signature: bool,
    /// True if this step has a signed call: only the first of parallel ones is signed.
    has_signed_call: bool,
    malformed: bool,
    /// Parts so far, with deltas of the same kind joined.
    parts: Vec<Value>,
    finish: Option<String>,
    usage: Option<ScriptedUsage>,
    /// True if the answer ends with text, so that the signature is in an empty text part at the end.
    ends_in_text: bool,
}

impl GeminiRenderer {
    pub(super) fn new(asked: RenderParams, ids: IdSequence) -> Self {
        let id = ids.next("");
        let owes_signature = asked.signs_calls;
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

    fn chunk(&self, parts: &Value, finish: Option<&str>, usage: Option<ScriptedUsage>, out: &mut String) {
        let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        let response = self.response(candidate, usage);
        out.push_str("data: ");
        out.push_str(&response.to_string());
        out.push_str("\r\n\r\n");
    }

    fn response(&self, candidate: Value, usage: Option<ScriptedUsage>) -> Value {
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

    fn push_part(&mut self, part: &Value, out: &mut String) {
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
            part["thoughtSignature"] = json!(signatures::sign_call(name, &args));
            (self.has_signed_call, self.owes_signature) = (true, false);
        }
        Some(part)
    }

    fn push_calls(&mut self, calls: &[ScriptedToolCall], out: &mut String) {
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

/// Formats tokens like Gemini: thinking is not part of the candidates' tokens, and zeros are omitted.
fn usage_json(usage: ScriptedUsage) -> Value {
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

fn finish_reason(finish: &ScriptedFinish) -> &str {
    match finish {
        ScriptedFinish::Stop | ScriptedFinish::ToolCalls | ScriptedFinish::Paused => "STOP",
        ScriptedFinish::Length | ScriptedFinish::ContextExceeded => "MAX_TOKENS",
        ScriptedFinish::Refused => "SAFETY",
        ScriptedFinish::MalformedToolCall => "MALFORMED_FUNCTION_CALL",
        ScriptedFinish::Other(word) => word,
    }
}

impl ResponseRenderer for GeminiRenderer {
    fn render_piece(&mut self, piece: RenderPiece<'_>, out: &mut String) {
        match piece {
            RenderPiece::Begin | RenderPiece::Ping => {}
            RenderPiece::Open(part) => {
                self.part = Some(part.clone());
                self.arguments.clear();
                if matches!(part, RenderPart::Thinking | RenderPart::HiddenThinking) {
                    self.owes_signature = true;
                }
            }
            RenderPiece::Delta(text) => match self.part {
                Some(RenderPart::Text | RenderPart::Refusal) => self.push_part(&json!({"text": text}), out),
                Some(RenderPart::Thinking) if self.asked.thoughts => {
                    self.push_part(&json!({"text": text, "thought": true}), out);
                }
                Some(RenderPart::ToolCall { .. }) => self.arguments.push_str(text),
                Some(RenderPart::Thinking | RenderPart::HiddenThinking) | None => {}
            },
            RenderPiece::Close => {
                if let Some(RenderPart::ToolCall { name, id }) = self.part.take() {
                    let arguments = std::mem::take(&mut self.arguments);
                    if let Some(part) = self.call_part(&name, id.as_deref(), &arguments) {
                        self.push_part(&part, out);
                    }
                }
            }
            RenderPiece::Together(calls) => self.push_calls(calls, out),
            RenderPiece::Error(error) => out.push_str(&error.event(ApiKind::Gemini, 0)),
            RenderPiece::End { finish, usage } => {
                let finish = if self.malformed { &ScriptedFinish::MalformedToolCall } else { finish };
                let finish = finish_reason(finish).to_owned();
                if self.owes_signature && self.ends_in_text {
                    let last = json!({"text": "", "thoughtSignature": signatures::sign_text()});
                    self.chunk(&json!([last]), Some(&finish), usage, out);
                    if let Some(part) = self.parts.last_mut() {
                        part["thoughtSignature"] = json!(signatures::sign_text());
                    }
                } else {
                    self.chunk(&json!([{"text": ""}]), Some(&finish), usage, out);
                }
                (self.finish, self.usage) = (Some(finish), usage);
            }
        }
    }

    fn render_whole(&mut self) -> Value {
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
