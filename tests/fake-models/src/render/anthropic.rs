//! Anthropic's Messages: content blocks with a start, deltas and a stop, each in its own event.

use serde_json::{Value, json};

use super::{Asked, Part, Piece, Renderer, event};
use crate::answer::{Finish, ToolCall, Usage};
use crate::api::Api;
use crate::ids::Ids;
use crate::signatures;

pub(super) struct Messages {
    asked: Asked,
    ids: Ids,
    id: String,
    /// Blocks so far, as a whole answer has them; the open one is the last.
    blocks: Vec<Value>,
    part: Option<Part>,
    /// Text of the open block: words, thinking, or arguments.
    text: String,
    finish: Option<String>,
    usage: Option<Usage>,
}

impl Messages {
    pub(super) fn new(asked: Asked, ids: Ids) -> Self {
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

    fn open(&mut self, part: &Part, out: &mut String) {
        self.part = Some(part.clone());
        self.text.clear();
        let block = match part {
            Part::Text | Part::Refusal => json!({"type": "text", "text": ""}),
            Part::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Part::HiddenThinking => {
                json!({"type": "redacted_thinking", "data": signatures::hidden(&self.ids.next("hidden_"))})
            }
            Part::ToolCall { name, id } => {
                let id = id.clone().unwrap_or_else(|| self.ids.next("toolu_"));
                json!({"type": "tool_use", "id": id, "name": name, "input": {}})
            }
        };
        self.blocks.push(block.clone());
        let start = json!({"type": "content_block_start", "index": self.index(), "content_block": block});
        event(Some("content_block_start"), &start, out);
        if matches!(part, Part::ToolCall { .. }) {
            // The real API begins with an empty one.
            self.delta(&json!({"type": "input_json_delta", "partial_json": ""}), out);
        }
    }

    fn delta(&self, delta: &Value, out: &mut String) {
        let delta = json!({"type": "content_block_delta", "index": self.index(), "delta": delta});
        event(Some("content_block_delta"), &delta, out);
    }

    fn more(&mut self, text: &str, out: &mut String) {
        self.text.push_str(text);
        match self.part {
            Some(Part::Text | Part::Refusal) => self.delta(&json!({"type": "text_delta", "text": text}), out),
            Some(Part::Thinking) => self.delta(&json!({"type": "thinking_delta", "thinking": text}), out),
            Some(Part::ToolCall { .. }) => {
                self.delta(&json!({"type": "input_json_delta", "partial_json": text}), out);
            }
            Some(Part::HiddenThinking) | None => {}
        }
    }

    fn close(&mut self, out: &mut String) {
        let text = std::mem::take(&mut self.text);
        let part = self.part.take();
        if part == Some(Part::Thinking) {
            let signature = signatures::of_thinking(&text);
            self.delta(&json!({"type": "signature_delta", "signature": signature}), out);
        }
        if let Some(block) = self.blocks.last_mut() {
            match part {
                Some(Part::Text | Part::Refusal) => block["text"] = json!(text),
                Some(Part::Thinking) => {
                    block["signature"] = json!(signatures::of_thinking(&text));
                    block["thinking"] = json!(text);
                }
                Some(Part::ToolCall { .. }) => {
                    block["input"] = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
                }
                Some(Part::HiddenThinking) | None => {}
            }
        }
        event(Some("content_block_stop"), &json!({"type": "content_block_stop", "index": self.index()}), out);
    }

    fn call(&mut self, call: &ToolCall, out: &mut String) {
        self.open(&Part::ToolCall { name: call.name.clone(), id: call.id.clone() }, out);
        for fragment in call.sent_fragments() {
            self.more(&fragment, out);
        }
        self.close(out);
    }
}

/// Tokens as Anthropic counts them: those of the cache are not among `input_tokens`.
fn usage_json(usage: Usage, output: u64) -> Value {
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

fn stop_reason(finish: &Finish) -> &str {
    match finish {
        Finish::Stop | Finish::MalformedToolCall => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::ContextExceeded => "model_context_window_exceeded",
        Finish::Refused => "refusal",
        Finish::Paused => "pause_turn",
        Finish::Other(word) => word,
    }
}

/// What is said of a refusal.
fn stop_details(finish: &Finish) -> Value {
    if *finish != Finish::Refused {
        return Value::Null;
    }
    json!({"type": "refusal", "category": "general_harms", "explanation": "The request was refused."})
}

impl Renderer for Messages {
    fn stream(&mut self, piece: Piece<'_>, out: &mut String) {
        match piece {
            Piece::Begin => {
                let message = self.message(&[], None, usage_json(self.asked.usage.unwrap_or_default(), 1));
                event(Some("message_start"), &json!({"type": "message_start", "message": message}), out);
                event(Some("ping"), &json!({"type": "ping"}), out);
            }
            Piece::Open(part) => self.open(part, out),
            Piece::Delta(text) => self.more(text, out),
            Piece::Close => self.close(out),
            Piece::Together(calls) => {
                for call in calls {
                    self.call(call, out);
                }
            }
            Piece::Ping => event(Some("ping"), &json!({"type": "ping"}), out),
            Piece::Error(error) => out.push_str(&error.event(Api::Anthropic, 0)),
            Piece::End { finish, usage } => {
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

    fn whole(&mut self) -> Value {
        let usage = self.usage.unwrap_or_default();
        self.message(&self.blocks, self.finish.as_deref(), usage_json(usage, usage.output))
    }
}
