//! OpenAI's Responses: items with their own events, which are all numbered.

use serde_json::{Value, json};

use super::openai::CREATED;
use super::{RenderParams, RenderPart, RenderPiece, ResponseRenderer, event};
use crate::ids::IdSequence;
use crate::scripted_response::{ScriptedFinish, ScriptedToolCall, ScriptedUsage};
use crate::signatures;

pub(super) struct ResponsesRenderer {
    asked: RenderParams,
    ids: IdSequence,
    id: String,
    sequence: u64,
    part: Option<RenderPart>,
    /// Completed items; the last one is open.
    items: Vec<Value>,
    /// Text, summary or arguments of the open part.
    text: String,
    status: &'static str,
    incomplete: Option<&'static str>,
    usage: Option<ScriptedUsage>,
}

impl ResponsesRenderer {
    pub(super) fn new(asked: RenderParams, ids: IdSequence) -> Self {
        let id = ids.next("resp_");
        Self {
            asked,
            ids,
            id,
            sequence: 0,
            part: None,
            items: Vec::new(),
            text: String::new(),
            status: "in_progress",
            incomplete: None,
            usage: None,
        }
    }

    fn emit(&mut self, kind: &str, mut data: Value, out: &mut String) {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        event(Some(kind), &data, out);
    }

    fn response(&self) -> Value {
        let asked = |name: &str, otherwise: Value| self.asked.request.get(name).cloned().unwrap_or(otherwise);
        let done = self.status != "in_progress";
        json!({
            "id": self.id,
            "object": "response",
            "created_at": CREATED,
            "status": self.status,
            "background": false,
            "error": null,
            "incomplete_details": self.incomplete.map(|reason| json!({"reason": reason})),
            "instructions": asked("instructions", Value::Null),
            "max_output_tokens": asked("max_output_tokens", Value::Null),
            "max_tool_calls": null,
            "model": self.asked.model,
            "output": if done { json!(self.items) } else { json!([]) },
            "parallel_tool_calls": asked("parallel_tool_calls", json!(true)),
            "previous_response_id": null,
            "prompt_cache_key": asked("prompt_cache_key", Value::Null),
            "reasoning": asked("reasoning", json!({"effort": null, "summary": null})),
            "safety_identifier": null,
            "service_tier": "default",
            "store": asked("store", json!(true)),
            "temperature": asked("temperature", json!(1.0)),
            "text": asked("text", json!({"format": {"type": "text"}})),
            "tool_choice": asked("tool_choice", json!("auto")),
            "tools": asked("tools", json!([])),
            "top_logprobs": 0,
            "top_p": asked("top_p", json!(1.0)),
            "truncation": "disabled",
            "usage": if done { self.usage.map(usage_json) } else { None },
            "user": null,
            "metadata": {},
        })
    }

    fn place(&self) -> Value {
        let id = self.items.last().and_then(|item| item.get("id")).cloned().unwrap_or_default();
        json!({"item_id": id, "output_index": self.items.len().saturating_sub(1)})
    }

    /// Returns the position of the open item with additional fields.
    fn place_with(&self, more: &[(&str, Value)]) -> Value {
        let mut place = self.place();
        for (name, value) in more {
            place[*name] = value.clone();
        }
        place
    }

    fn add_item(&mut self, item: Value, out: &mut String) {
        let id = |item: &Value| item.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(last) = self.items.last()
            && last.get("type") == Some(&json!("reasoning"))
        {
            self.asked.issued.lock().insert(id(&item), id(last));
        }
        self.items.push(item.clone());
        let index = self.items.len() - 1;
        self.emit("response.output_item.added", json!({"output_index": index, "item": item}), out);
    }

    fn open(&mut self, part: &RenderPart, out: &mut String) {
        self.part = Some(part.clone());
        self.text.clear();
        match part {
            RenderPart::Text | RenderPart::Refusal => {
                let id = self.ids.next("msg_");
                let item = json!({
                    "id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": [],
                });
                self.add_item(item, out);
                let data = self.place_with(&[("content_index", json!(0)), ("part", content(part, ""))]);
                self.emit("response.content_part.added", data, out);
            }
            RenderPart::Thinking | RenderPart::HiddenThinking => {
                let id = self.ids.next("rs_");
                let mut item = json!({"id": id, "type": "reasoning", "summary": []});
                if self.asked.encrypted_reasoning {
                    item["encrypted_content"] = json!(signatures::hide_thinking(&id));
                }
                self.add_item(item, out);
                if *part == RenderPart::Thinking {
                    let part = json!({"type": "summary_text", "text": ""});
                    let data = self.place_with(&[("summary_index", json!(0)), ("part", part)]);
                    self.emit("response.reasoning_summary_part.added", data, out);
                }
            }
            RenderPart::ToolCall { name, id } => {
                let call_id = id.clone().unwrap_or_else(|| self.ids.next("call_"));
                let id = self.ids.next("fc_");
                let item = json!({
                    "id": id, "type": "function_call", "status": "in_progress",
                    "arguments": "", "call_id": call_id, "name": name,
                });
                self.add_item(item, out);
            }
        }
    }

    fn push_delta(&mut self, delta: &str, out: &mut String) {
        self.text.push_str(delta);
        let (kind, more) = match self.part {
            Some(RenderPart::Text) => {
                ("response.output_text.delta", vec![("content_index", json!(0)), ("logprobs", json!([]))])
            }
            Some(RenderPart::Refusal) => ("response.refusal.delta", vec![("content_index", json!(0))]),
            Some(RenderPart::Thinking) => {
                ("response.reasoning_summary_text.delta", vec![("summary_index", json!(0))])
            }
            Some(RenderPart::ToolCall { .. }) => ("response.function_call_arguments.delta", vec![]),
            Some(RenderPart::HiddenThinking) | None => return,
        };
        let mut data = self.place_with(&more);
        data["delta"] = json!(delta);
        self.emit(kind, data, out);
    }

    fn close(&mut self, out: &mut String) {
        let Some(part) = self.part.take() else { return };
        let text = std::mem::take(&mut self.text);
        match &part {
            RenderPart::Text | RenderPart::Refusal => {
                let (kind, field) = match part {
                    RenderPart::Refusal => ("response.refusal.done", "refusal"),
                    _ => ("response.output_text.done", "text"),
                };
                let mut data = self.place_with(&[("content_index", json!(0)), (field, json!(text))]);
                if part == RenderPart::Text {
                    data["logprobs"] = json!([]);
                }
                self.emit(kind, data, out);
                let data = self.place_with(&[("content_index", json!(0)), ("part", content(&part, &text))]);
                self.emit("response.content_part.done", data, out);
                self.set("content", json!([content(&part, &text)]));
                self.set("status", json!("completed"));
            }
            RenderPart::Thinking => {
                let data = self.place_with(&[("summary_index", json!(0)), ("text", json!(text))]);
                self.emit("response.reasoning_summary_text.done", data, out);
                let summary = json!({"type": "summary_text", "text": text});
                let data = self.place_with(&[("summary_index", json!(0)), ("part", summary.clone())]);
                self.emit("response.reasoning_summary_part.done", data, out);
                self.set("summary", json!([summary]));
            }
            RenderPart::HiddenThinking => {}
            RenderPart::ToolCall { name, .. } => {
                let data = self.place_with(&[("arguments", json!(text)), ("name", json!(name))]);
                self.emit("response.function_call_arguments.done", data, out);
                self.set("arguments", json!(text));
                self.set("status", json!("completed"));
            }
        }
        let item = self.items.last().cloned().unwrap_or_default();
        let data = json!({"output_index": self.items.len().saturating_sub(1), "item": item});
        self.emit("response.output_item.done", data, out);
    }

    fn set(&mut self, field: &str, value: Value) {
        if let Some(item) = self.items.last_mut() {
            item[field] = value;
        }
    }

    fn call(&mut self, call: &ScriptedToolCall, out: &mut String) {
        self.open(&RenderPart::ToolCall { name: call.name.clone(), id: call.id.clone() }, out);
        for fragment in call.sent_fragments() {
            self.push_delta(&fragment, out);
        }
        self.close(out);
    }
}

fn content(part: &RenderPart, text: &str) -> Value {
    match part {
        RenderPart::Refusal => json!({"type": "refusal", "refusal": text}),
        _ => json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text}),
    }
}

fn usage_json(usage: ScriptedUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    })
}

impl ResponseRenderer for ResponsesRenderer {
    fn render_piece(&mut self, piece: RenderPiece<'_>, out: &mut String) {
        match piece {
            RenderPiece::Begin => {
                let response = self.response();
                self.emit("response.created", json!({"response": response}), out);
                self.emit("response.in_progress", json!({"response": response}), out);
            }
            RenderPiece::Open(part) => self.open(part, out),
            RenderPiece::Delta(text) => self.push_delta(text, out),
            RenderPiece::Close => self.close(out),
            RenderPiece::Together(calls) => {
                for call in calls {
                    self.call(call, out);
                }
            }
            RenderPiece::Ping => out.push_str(": keep-alive\n\n"),
            RenderPiece::Error(error) => {
                // The real API reports it twice: as a separate event, and as the end of the response.
                out.push_str(&error.event(crate::api::ApiKind::OpenaiResponses, self.sequence));
                self.sequence += 1;
                self.status = "failed";
                let mut response = self.response();
                let code = error.code.clone().unwrap_or_else(|| "server_error".to_owned());
                response["error"] = json!({"code": code, "message": error.message});
                self.emit("response.failed", json!({"response": response}), out);
            }
            RenderPiece::End { finish, usage } => {
                self.usage = usage;
                self.incomplete = match finish {
                    ScriptedFinish::Length | ScriptedFinish::ContextExceeded => Some("max_output_tokens"),
                    ScriptedFinish::Refused if self.items.iter().all(|item| !is_refusal(item)) => {
                        Some("content_filter")
                    }
                    _ => None,
                };
                self.status = if self.incomplete.is_some() { "incomplete" } else { "completed" };
                if self.incomplete.is_some() {
                    self.set("status", json!("incomplete"));
                }
                let kind =
                    if self.incomplete.is_some() { "response.incomplete" } else { "response.completed" };
                let response = self.response();
                self.emit(kind, json!({"response": response}), out);
            }
        }
    }

    fn render_whole(&mut self) -> Value {
        self.response()
    }
}

fn is_refusal(item: &Value) -> bool {
    item.pointer("/content/0/type").is_some_and(|kind| kind == "refusal")
}
