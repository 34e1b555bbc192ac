//! Chat Completions: chunks with `index`, `[DONE]` at the end. Also for compatible servers with their quirks.

use serde_json::{Map, Value, json};

use super::{RenderParams, RenderPart, RenderPiece, ResponseRenderer, event};
use crate::api::ApiKind;
use crate::ids::IdSequence;
use crate::quirks::ApiQuirks;
use crate::scripted_response::{ScriptedFinish, ScriptedToolCall, ScriptedUsage};

/// Creation time of all answers in seconds since 1970, fixed so that the same script gives the same bytes.
pub(crate) const CREATED: u64 = 1_790_000_000;

pub(super) struct ChatCompletionsRenderer {
    asked: RenderParams,
    ids: IdSequence,
    quirks: ApiQuirks,
    /// True for OpenAI's own server, which has more fields than others.
    is_openai: bool,
    id: String,
    part: Option<RenderPart>,
    /// Calls so far; the last one is open.
    calls: Vec<RenderedToolCall>,
    text: String,
    thinking: String,
    refusal: String,
    finish: Option<String>,
    usage: Option<ScriptedUsage>,
}

struct RenderedToolCall {
    id: String,
    name: String,
    arguments: String,
}

impl ChatCompletionsRenderer {
    pub(super) fn new(asked: RenderParams, ids: IdSequence, quirks: ApiQuirks, is_openai: bool) -> Self {
        let id = ids.next("chatcmpl-");
        Self {
            asked,
            ids,
            quirks,
            is_openai,
            id,
            part: None,
            calls: Vec::new(),
            text: String::new(),
            thinking: String::new(),
            refusal: String::new(),
            finish: None,
            usage: None,
        }
    }

    fn chunk(&self, choices: Value, usage: Option<Value>) -> Value {
        let mut chunk = self.head("chat.completion.chunk");
        chunk.insert("choices".to_owned(), choices);
        if let Some(usage) = usage {
            chunk.insert("usage".to_owned(), usage);
        }
        Value::Object(chunk)
    }

    fn head(&self, object: &str) -> Map<String, Value> {
        let mut head = Map::new();
        head.insert("id".to_owned(), json!(self.id));
        head.insert("object".to_owned(), json!(object));
        head.insert("created".to_owned(), json!(CREATED));
        head.insert("model".to_owned(), json!(self.asked.model));
        if self.is_openai {
            head.insert("service_tier".to_owned(), json!("default"));
            head.insert("system_fingerprint".to_owned(), json!("fp_fake"));
        }
        head
    }

    fn delta(&self, delta: &Value, finish: Option<&str>, out: &mut String) {
        let mut choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        if self.is_openai {
            choice["logprobs"] = Value::Null;
        }
        // If usage is requested, every chunk but the last has `"usage": null`.
        let usage = if self.quirks.usage_in_each_chunk {
            self.usage.or(Some(ScriptedUsage::default())).map(|usage| self.usage_json(usage))
        } else {
            (self.asked.include_usage && self.is_openai).then_some(Value::Null)
        };
        event(None, &self.chunk(json!([choice]), usage), out);
        if self.quirks.comments {
            out.push_str(": PROCESSING\n\n");
        }
    }

    fn thinking_field(&self) -> &str {
        self.quirks.thinking_field.as_deref().unwrap_or("reasoning_content")
    }

    fn begin_call(&mut self, name: &str, id: Option<&str>) -> Value {
        let id = id.map_or_else(|| self.ids.next("call_"), str::to_owned);
        self.calls.push(RenderedToolCall { id: id.clone(), name: name.to_owned(), arguments: String::new() });
        let mut call = json!({"type": "function", "function": {"name": name, "arguments": ""}});
        self.put_index(&mut call, self.calls.len() - 1);
        if !self.quirks.no_call_ids {
            call["id"] = json!(id);
        }
        call
    }

    fn push_arguments(&mut self, index: usize, fragment: &str) -> Value {
        if let Some(call) = self.calls.get_mut(index) {
            call.arguments.push_str(fragment);
        }
        let mut call = json!({"function": {"arguments": fragment}});
        self.put_index(&mut call, index);
        call
    }

    fn put_index(&self, call: &mut Value, index: usize) {
        if !self.quirks.no_call_index {
            call["index"] = json!(if self.quirks.index_always_zero { 0 } else { index });
        }
    }

    /// Returns true if calls are sent in one piece, as by servers with arguments as an object.
    fn sends_calls_whole(&self) -> bool {
        self.quirks.arguments_as_object || self.quirks.no_call_index
    }

    fn whole_call(&self, index: usize) -> Value {
        let Some(call) = self.calls.get(index) else { return Value::Null };
        let arguments = match serde_json::from_str::<Value>(&call.arguments) {
            Ok(arguments) if self.quirks.arguments_as_object => arguments,
            _ => json!(call.arguments),
        };
        let mut whole = json!({"type": "function", "function": {"name": call.name, "arguments": arguments}});
        if !self.quirks.no_call_ids {
            whole["id"] = json!(call.id);
        }
        whole
    }

    fn push_calls(&mut self, calls: &[ScriptedToolCall], out: &mut String) {
        let first = self.calls.len();
        let begun: Vec<_> =
            calls.iter().map(|call| self.begin_call(&call.name, call.id.as_deref())).collect();
        if !self.sends_calls_whole() {
            self.delta(&json!({"tool_calls": begun}), None, out);
        }
        let fragments: Vec<_> = calls.iter().map(ScriptedToolCall::sent_fragments).collect();
        for round in 0..fragments.iter().map(Vec::len).max().unwrap_or(0) {
            let mut deltas = Vec::new();
            for (offset, fragments) in fragments.iter().enumerate() {
                if let Some(fragment) = fragments.get(round) {
                    deltas.push(self.push_arguments(first + offset, fragment));
                }
            }
            if !self.sends_calls_whole() {
                self.delta(&json!({"tool_calls": deltas}), None, out);
            }
        }
        if self.sends_calls_whole() {
            let whole: Vec<_> = (first..self.calls.len()).map(|index| self.streamed_whole(index)).collect();
            self.delta(&json!({"tool_calls": whole}), None, out);
        }
    }

    fn streamed_whole(&self, index: usize) -> Value {
        let mut call = self.whole_call(index);
        self.put_index(&mut call, index);
        call
    }

    fn finish_reason(&self, finish: &ScriptedFinish) -> String {
        match finish {
            // A forced call ends with the reason stop.
            ScriptedFinish::ToolCalls if self.asked.forces_tool || self.quirks.finish_stop_for_calls => {
                "stop"
            }
            ScriptedFinish::ToolCalls => "tool_calls",
            ScriptedFinish::Length | ScriptedFinish::ContextExceeded => "length",
            // A refusal in the model's own words ends like any text.
            ScriptedFinish::Refused if self.refusal.is_empty() => "content_filter",
            ScriptedFinish::Stop
            | ScriptedFinish::Paused
            | ScriptedFinish::MalformedToolCall
            | ScriptedFinish::Refused => "stop",
            ScriptedFinish::Other(word) => word,
        }
        .to_owned()
    }

    fn usage_json(&self, usage: ScriptedUsage) -> Value {
        let mut json = json!({
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        });
        if self.is_openai || usage.cached > 0 || usage.reasoning > 0 {
            json["prompt_tokens_details"] = json!({"cached_tokens": usage.cached, "audio_tokens": 0});
            json["completion_tokens_details"] = json!({
                "reasoning_tokens": usage.reasoning, "audio_tokens": 0,
                "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
            });
        }
        json
    }
}

impl ResponseRenderer for ChatCompletionsRenderer {
    fn render_piece(&mut self, piece: RenderPiece<'_>, out: &mut String) {
        match piece {
            RenderPiece::Begin => {
                let delta = json!({"role": "assistant", "content": "", "refusal": null});
                let plain = json!({"role": "assistant", "content": null});
                self.delta(if self.is_openai { &delta } else { &plain }, None, out);
            }
            RenderPiece::Open(part) => {
                self.part = Some(part.clone());
                if let RenderPart::ToolCall { name, id } = part {
                    let call = self.begin_call(name, id.as_deref());
                    if !self.sends_calls_whole() {
                        self.delta(&json!({"tool_calls": [call]}), None, out);
                    }
                }
            }
            RenderPiece::Delta(text) => match self.part {
                Some(RenderPart::Text) => {
                    self.text.push_str(text);
                    self.delta(&json!({"content": text}), None, out);
                }
                Some(RenderPart::Refusal) if self.is_openai => {
                    self.refusal.push_str(text);
                    self.delta(&json!({"refusal": text}), None, out);
                }
                Some(RenderPart::Refusal) => {
                    self.text.push_str(text);
                    self.delta(&json!({"content": text}), None, out);
                }
                Some(RenderPart::Thinking) if !self.is_openai => {
                    self.thinking.push_str(text);
                    let mut delta = json!({"content": null});
                    delta[self.thinking_field()] = json!(text);
                    self.delta(&delta, None, out);
                }
                Some(RenderPart::ToolCall { .. }) => {
                    let call = self.push_arguments(self.calls.len().saturating_sub(1), text);
                    if !self.sends_calls_whole() {
                        self.delta(&json!({"tool_calls": [call]}), None, out);
                    }
                }
                Some(RenderPart::Thinking | RenderPart::HiddenThinking) | None => {}
            },
            RenderPiece::Close => {
                if matches!(self.part.take(), Some(RenderPart::ToolCall { .. })) && self.sends_calls_whole() {
                    let call = self.streamed_whole(self.calls.len().saturating_sub(1));
                    self.delta(&json!({"tool_calls": [call]}), None, out);
                }
            }
            RenderPiece::Together(calls) => self.push_calls(calls, out),
            RenderPiece::Ping => out.push_str(": keep-alive\n\n"),
            RenderPiece::Error(error) => {
                let api = if self.is_openai { ApiKind::Openai } else { ApiKind::Compatible };
                out.push_str(&error.event(api, 0));
            }
            RenderPiece::End { finish, usage } => {
                let finish = self.finish_reason(finish);
                self.usage = usage;
                self.delta(&json!({}), Some(&finish), out);
                self.finish = Some(finish);
                if let Some(usage) = usage
                    && self.asked.include_usage
                    && !self.quirks.usage_in_each_chunk
                {
                    event(None, &self.chunk(json!([]), Some(self.usage_json(usage))), out);
                }
                if !self.quirks.no_done {
                    out.push_str("data: [DONE]\n\n");
                }
            }
        }
    }

    fn render_whole(&mut self) -> Value {
        let calls: Vec<_> = (0..self.calls.len()).map(|index| self.whole_call(index)).collect();
        let has_text = !self.text.is_empty() || (calls.is_empty() && self.refusal.is_empty());
        let mut message = json!({
            "role": "assistant",
            "content": if has_text { json!(self.text) } else { Value::Null },
        });
        if self.is_openai {
            message["refusal"] = if self.refusal.is_empty() { Value::Null } else { json!(self.refusal) };
            message["annotations"] = json!([]);
        }
        if !self.thinking.is_empty() {
            message[self.thinking_field()] = json!(self.thinking);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let mut choice = json!({"index": 0, "message": message, "finish_reason": self.finish});
        if self.is_openai {
            choice["logprobs"] = Value::Null;
        }
        let mut whole = self.head("chat.completion");
        whole.insert("choices".to_owned(), json!([choice]));
        if let Some(usage) = self.usage {
            whole.insert("usage".to_owned(), self.usage_json(usage));
        }
        Value::Object(whole)
    }
}
