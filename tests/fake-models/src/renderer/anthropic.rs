//! Anthropic's Messages: content blocks with a start, deltas and a stop, each in its own event.

use serde_json::{Value, json};

use super::{RenderParams, RenderPart, RenderPiece, ResponseRenderer, event};
use crate::api::ApiKind;
use crate::ids::IdSequence;
use crate::scripted_response::{ScriptedFinish, ScriptedToolCall, ScriptedUsage};
use crate::signatures;

pub(super) struct MessagesRenderer {
    asked: RenderParams,
    ids: IdSequence,
    id: String,
    /// Blocks so far in the form of a whole answer; the last one is open.
    blocks: Vec<Value>,
    part: Option<RenderPart>,
    /// Content of the open block: text, thinking or arguments.
    text: String,
    finish: Option<String>,
    usage: Option<ScriptedUsage>,
}

impl MessagesRenderer {
    pub(super) fn new(asked: RenderParams, ids: IdSequence) -> Self {
        let id = ids.next("msg_");
        Self {
            asked,
            ids,
            id,
            blocks: Vec::new(),
            part: None,
            text: String::new(),
            finish: None,
            usage: None,
        }
    }

    fn message(&self, content: &[Value], stop_reason: Option<&str>, usage: Value) -> Value {
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.asked.model,
            "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage,
        })
    }

    fn index(&self) -> usize {
        self.blocks.len().saturating_sub(1)
    }

    fn open(&mut self, part: &RenderPart, out: &mut String) {
        self.part = Some(part.clone());
        self.text.clear();
        let block = match part {
            RenderPart::Text | RenderPart::Refusal => json!({"type": "text", "text": ""}),
            RenderPart::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            RenderPart::HiddenThinking => {
                json!({"type": "redacted_thinking", "data": signatures::hide_thinking(&self.ids.next("hidden_"))})
            }
            RenderPart::ToolCall { name, id } => {
                let id = id.clone().unwrap_or_else(|| self.ids.next("toolu_"));
                json!({"type": "tool_use", "id": id, "name": name, "input": {}})
            }
        };
        self.blocks.push(block.clone());
        let start = json!({"type": "content_block_start", "index": self.index(), "content_block": block});
        event(Some("content_block_start"), &start, out);
        if matches!(part, RenderPart::ToolCall { .. }) {
            // The real API starts with an empty one.
            self.delta(&json!({"type": "input_json_delta", "partial_json": ""}), out);
        }
    }

    fn delta(&self, delta: &Value, out: &mut String) {
        let delta = json!({"type": "content_block_delta", "index": self.index(), "delta": delta});
        event(Some("content_block_delta"), &delta, out);
    }

    fn push_delta(&mut self, text: &str, out: &mut String) {
        self.text.push_str(text);
        match self.part {
            Some(RenderPart::Text | RenderPart::Refusal) => {
                self.delta(&json!({"type": "text_delta", "text": text}), out)
            }
            Some(RenderPart::Thinking) => {
                self.delta(&json!({"type": "thinking_delta", "thinking": text}), out)
            }
            Some(RenderPart::ToolCall { .. }) => {
                self.delta(&json!({"type": "input_json_delta", "partial_json": text}), out);
            }
            Some(RenderPart::HiddenThinking) | None => {}
        }
    }

    fn close(&mut self, out: &mut String) {
        let text = std::mem::take(&mut self.text);
        let part = self.part.take();
        if part == Some(RenderPart::Thinking) {
            let signature = signatures::sign_thinking(&text);
            self.delta(&json!({"type": "signature_delta", "signature": signature}), out);
        }
        if let Some(block) = self.blocks.last_mut() {
            match part {
                Some(RenderPart::Text | RenderPart::Refusal) => block["text"] = json!(text),
                Some(RenderPart::Thinking) => {
                    block["signature"] = json!(signatures::sign_thinking(&text));
                    block["thinking"] = json!(text);
                }
                Some(RenderPart::ToolCall { .. }) => {
                    block["input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
                }
                Some(RenderPart::HiddenThinking) | None => {}
            }
        }
        event(Some("content_block_stop"), &json!({"type": "content_block_stop", "index": self.index()}), out);
    }

    fn call(&mut self, call: &ScriptedToolCall, out: &mut String) {
        self.open(&RenderPart::ToolCall { name: call.name.clone(), id: call.id.clone() }, out);
        for fragment in call.sent_fragments() {
            self.push_delta(&fragment, out);
        }
        self.close(out);
    }
}

/// Formats tokens like Anthropic: `input_tokens` does not include cached ones.
fn usage_json(usage: ScriptedUsage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_written),
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_written, "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning.min(output)},
        "service_tier": "standard",
    })
}

fn stop_reason(finish: &ScriptedFinish) -> &str {
    match finish {
        ScriptedFinish::Stop | ScriptedFinish::MalformedToolCall => "end_turn",
        ScriptedFinish::ToolCalls => "tool_use",
        ScriptedFinish::Length => "max_tokens",
        ScriptedFinish::ContextExceeded => "model_context_window_exceeded",
        ScriptedFinish::Refused => "refusal",
        ScriptedFinish::Paused => "pause_turn",
        ScriptedFinish::Other(word) => word,
    }
}

/// Returns the details of a refusal.
fn stop_details(finish: &ScriptedFinish) -> Value {
    if *finish != ScriptedFinish::Refused {
        return Value::Null;
    }
    json!({"type": "refusal", "category": "general_harms", "explanation": "The request was refused."})
}

impl ResponseRenderer for MessagesRenderer {
    fn render_piece(&mut self, piece: RenderPiece<'_>, out: &mut String) {
        match piece {
            RenderPiece::Begin => {
                let message = self.message(&[], None, usage_json(self.asked.usage.unwrap_or_default(), 1));
                event(Some("message_start"), &json!({"type": "message_start", "message": message}), out);
                event(Some("ping"), &json!({"type": "ping"}), out);
            }
            RenderPiece::Open(part) => self.open(part, out),
            RenderPiece::Delta(text) => self.push_delta(text, out),
            RenderPiece::Close => self.close(out),
            RenderPiece::Together(calls) => {
                for call in calls {
                    self.call(call, out);
                }
            }
            RenderPiece::Ping => event(Some("ping"), &json!({"type": "ping"}), out),
            RenderPiece::Error(error) => out.push_str(&error.event(ApiKind::Anthropic, 0)),
            RenderPiece::End { finish, usage } => {
                let reason = stop_reason(finish).to_owned();
                let usage = usage.unwrap_or_default();
                let delta = json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_sequence": null, "stop_details": stop_details(finish)},
                    "usage": {
                        "input_tokens":
                            usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_written),
                        "cache_creation_input_tokens": usage.cache_written,
                        "cache_read_input_tokens": usage.cached,
                        "output_tokens": usage.output,
                        "output_tokens_details": {"thinking_tokens": usage.reasoning},
                    },
                });
                (self.finish, self.usage) = (Some(reason), Some(usage));
                event(Some("message_delta"), &delta, out);
                event(Some("message_stop"), &json!({"type": "message_stop"}), out);
            }
        }
    }

    fn render_whole(&mut self) -> Value {
        let usage = self.usage.unwrap_or_default();
        self.message(&self.blocks, self.finish.as_deref(), usage_json(usage, usage.output))
    }
}
