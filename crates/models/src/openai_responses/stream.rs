//! Understands the answers of the Responses API: items that begin, grow and are done, one after the other or side by
//! side, told apart by `output_index`.
//!
//! An item counts as whole when it is done. One that is under way when the answer ends before its time is given out
//! as far as it came: text as it is, a call as one that is cut.

use std::mem::discriminant;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolway_types::{CallId, RawJson};

use super::event::{Begun, ContentPart, Delta, Ended, Head, Item, ItemEvent, Response, SummaryPart};
use super::input::Thought;
use crate::answer::{Decoder, Events, Progress, not_understood};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, Failure, Said};
use crate::message::{Opaque, Part, ToolCall};
use crate::openai::is_object;
use crate::request::ModelRequest;
use crate::tools::{ConvertedTools, ToolSet};
use crate::transport::SseEvent;
use crate::usage::Usage;

/// Most items that are under way at once, and most calls in one answer.
const MAX_ITEMS: usize = 256;

/// The decoder.
pub(super) struct ResponsesDecoder {
    config: Arc<ProviderConfig>,
    model: Arc<str>,
    tools: Arc<ToolSet>,
    /// What turns arguments back that were given in strict form.
    restore: Option<Arc<ConvertedTools>>,
    started: bool,
    /// Items that are under way.
    open: Vec<OpenItem>,
    /// How many items are done.
    done: usize,
    /// How many calls there are so far.
    calls: usize,
    refused: bool,
    over: bool,
}

/// An item that is under way.
struct OpenItem {
    index: u64,
    kind: Kind,
    /// What came of it, which is also what was told.
    told: String,
}

enum Kind {
    Text,
    Thinking,
    Call { index: usize, name: String, call_id: String, is_done: bool },
}

impl ResponsesDecoder {
    pub(super) fn new(
        config: Arc<ProviderConfig>,
        request: &ModelRequest,
        restore: Option<Arc<ConvertedTools>>,
    ) -> Self {
        Self {
            config,
            model: Arc::clone(&request.model),
            tools: Arc::clone(&request.tools),
            restore,
            started: false,
            open: Vec::new(),
            done: 0,
            calls: 0,
            refused: false,
            over: false,
        }
    }

    fn read<'a, T: Deserialize<'a>>(&self, data: &'a str) -> Result<T, Failure> {
        serde_json::from_str(data)
            .map_err(|problem| not_understood(&self.config, &self.model, data, &problem))
    }

    fn start(&mut self, model: Option<&str>, out: &mut Events) {
        if !self.started {
            self.started = true;
            let model = model.filter(|model| !model.is_empty()).map(str::to_owned);
            out.push_back(ModelEvent::Started { model });
        }
    }

    /// The item of this index and kind, which begins here where there is none.
    fn item(&mut self, index: u64, kind: Kind, out: &mut Events) -> Result<&mut OpenItem, Failure> {
        self.end_other(index, &kind, out);
        let at = match self.open.iter().position(|item| item.index == index) {
            Some(at) => at,
            None if self.open.len() >= MAX_ITEMS => return Err(self.too_many()),
            None => {
                self.open.push(OpenItem { index, kind, told: String::new() });
                self.open.len() - 1
            }
        };
        // Just found, or just put there.
        self.open.get_mut(at).ok_or_else(|| failure::cut_off(&self.config))
    }

    /// Gives out an item of this index that is of another kind: no item changes its kind, so this is another one.
    fn end_other(&mut self, index: u64, kind: &Kind, out: &mut Events) {
        let other = |item: &OpenItem| item.index == index && discriminant(&item.kind) != discriminant(kind);
        if let Some(at) = self.open.iter().position(other) {
            let item = self.open.remove(at);
            self.give_up(item, false, out);
        }
    }

    fn too_many(&self) -> Failure {
        failure::protocol(&self.config, &format!("the answer has more than {MAX_ITEMS} items at once"), "")
    }

    fn text(&mut self, index: u64, delta: String, out: &mut Events) -> Result<(), Failure> {
        if !delta.is_empty() {
            self.item(index, Kind::Text, out)?.told.push_str(&delta);
            out.push_back(ModelEvent::Text(delta));
        }
        Ok(())
    }

    fn thinking(&mut self, index: u64, delta: String, out: &mut Events) -> Result<(), Failure> {
        if !delta.is_empty() {
            self.item(index, Kind::Thinking, out)?.told.push_str(&delta);
            out.push_back(ModelEvent::Thinking(delta));
        }
        Ok(())
    }

    /// Parts of a summary are paragraphs.
    fn summary_part(&mut self, index: u64, out: &mut Events) -> Result<(), Failure> {
        let has_more = self.open.iter().any(|item| item.index == index && !item.told.is_empty());
        if has_more { self.thinking(index, PARAGRAPH.to_owned(), out) } else { Ok(()) }
    }

    fn arguments(&mut self, index: u64, delta: String, out: &mut Events) {
        let item = self.open.iter_mut().find(|item| item.index == index);
        if let Some(OpenItem { kind: Kind::Call { index, .. }, told, .. }) = item {
            told.push_str(&delta);
            out.push_back(ModelEvent::ToolCallArguments { index: *index, delta });
        }
    }

    fn added(&mut self, index: u64, item: &Item<'_>, out: &mut Events) -> Result<(), Failure> {
        let is_known = |open: &OpenItem| open.index == index && matches!(open.kind, Kind::Call { .. });
        if item.r#type != "function_call" || self.open.iter().any(is_known) {
            return Ok(());
        }
        if self.calls >= MAX_ITEMS {
            return Err(self.too_many());
        }
        let sent = item.name.as_deref().unwrap_or_default();
        let name = self.tools.name_of(sent).to_owned();
        let call_id = item.call_id.as_deref().unwrap_or_default().to_owned();
        let kind = Kind::Call { index: self.calls, name: name.clone(), call_id, is_done: false };
        self.item(index, kind, out)?;
        out.push_back(ModelEvent::ToolCallStarted { index: self.calls, name });
        self.calls += 1;
        Ok(())
    }

    /// An item is whole.
    fn item_done(&mut self, index: u64, item: Item<'_>, out: &mut Events) -> Result<(), Failure> {
        self.done += 1;
        match &*item.r#type {
            "message" => self.message_done(index, &item, out),
            "reasoning" => self.thought_done(index, &item, out),
            "function_call" => {
                self.added(index, &item, out)?;
                self.call_done(index, item, out);
            }
            // Tools that run at OpenAI, which are not asked for.
            _ => {}
        }
        Ok(())
    }

    fn message_done(&mut self, index: u64, item: &Item<'_>, out: &mut Events) {
        let mut text = String::new();
        for part in &item.content {
            text.push_str(part.text.as_deref().unwrap_or_default());
            if let Some(refusal) = &part.refusal {
                self.refused = true;
                text.push_str(refusal);
            }
        }
        if let Some(rest) = self.untold(index, &Kind::Text, &text, out) {
            out.push_back(ModelEvent::Text(rest));
        }
        let phase = item.phase.filter(|phase| phase.get() != "null");
        let opaque = phase.map(|phase| self.opaque(&json!({ "phase": phase })));
        if !text.is_empty() {
            out.push_back(ModelEvent::Part(Part::Text { text, opaque }));
        }
    }

    fn thought_done(&mut self, index: u64, item: &Item<'_>, out: &mut Events) {
        let summary = item.summary.and_then(|raw| serde_json::from_str::<Vec<ContentPart>>(raw.get()).ok());
        let summary = joined(summary.as_deref().unwrap_or_default(), PARAGRAPH);
        let text = if summary.is_empty() { joined(&item.content, "") } else { summary };
        if let Some(rest) = self.untold(index, &Kind::Thinking, &text, out) {
            out.push_back(ModelEvent::Thinking(rest));
        }
        // Without its encrypted form it can't be sent back, since nothing is kept at the provider's.
        let encrypted = item.encrypted_content.filter(|encrypted| encrypted.get() != "null");
        let opaque = match (&item.id, encrypted) {
            (Some(id), Some(encrypted)) => self.thought(id, item.summary, encrypted),
            _ => None,
        };
        if !text.is_empty() || opaque.is_some() {
            out.push_back(ModelEvent::Part(Part::Thinking { text, opaque }));
        }
    }

    /// The item as it goes back. `status`, which came with it, is refused there.
    fn thought(&self, id: &str, summary: Option<&RawValue>, encrypted: &RawValue) -> Option<Opaque> {
        #[derive(serde::Serialize)]
        struct Reasoning<'a> {
            r#type: &'static str,
            id: &'a str,
            summary: &'a RawValue,
            encrypted_content: &'a RawValue,
        }
        let empty = serde_json::from_str::<&RawValue>("[]").ok()?;
        let summary = summary.unwrap_or(empty);
        let item = Reasoning { r#type: "reasoning", id, summary, encrypted_content: encrypted };
        let item = RawJson::from_value(&item).ok()?;
        let data = RawJson::from_value(&Thought { model: self.model.to_string(), item }).ok()?;
        Some(Opaque { provider: Arc::clone(&self.config.name), data })
    }

    fn call_done(&mut self, index: u64, item: Item<'_>, out: &mut Events) {
        let of_it = |open: &&mut OpenItem| open.index == index;
        let Some(open) = self.open.iter_mut().find(of_it) else { return };
        let Kind::Call { index: call, call_id, is_done, .. } = &mut open.kind else { return };
        *is_done = true;
        let arguments = item.arguments.filter(|arguments| !arguments.is_empty());
        if let Some(rest) = arguments.as_deref().and_then(|whole| rest(&open.told, whole)) {
            out.push_back(ModelEvent::ToolCallArguments { index: *call, delta: rest });
        }
        open.told = arguments.unwrap_or_else(|| std::mem::take(&mut open.told));
        if let Some(id) = item.call_id.filter(|id| !id.is_empty()) {
            *call_id = id.into_owned();
        }
        // Whether the limit cut it is seen only at the end of the answer.
        if open.told.is_empty() || is_object(&open.told) {
            let at = self.open.iter().position(|open| open.index == index);
            let item = at.map(|at| self.open.remove(at));
            item.into_iter().for_each(|item| self.give_up(item, true, out));
        }
    }

    fn tool_call(&self, name: String, call_id: String, arguments: String, is_cut: bool) -> ToolCall {
        let arguments = match &self.restore {
            Some(tools) if !is_cut => tools.restore(&name, arguments),
            _ => arguments,
        };
        let opaque = (!call_id.is_empty()).then(|| self.opaque(&json!({ "id": call_id })));
        ToolCall { id: CallId::new(), name, arguments, is_cut, opaque }
    }

    /// What of an item was not told piece by piece; the item is no longer under way.
    fn untold(&mut self, index: u64, kind: &Kind, whole: &str, out: &mut Events) -> Option<String> {
        self.end_other(index, kind, out);
        let at = self.open.iter().position(|item| item.index == index);
        let told = at.map(|at| self.open.remove(at).told).unwrap_or_default();
        rest(&told, whole)
    }

    /// The answer is over.
    fn ended(&mut self, status: &str, response: Response<'_>, out: &mut Events) -> Result<(), Failure> {
        self.start(response.model.as_deref(), out);
        let usage = response.usage.usage();
        if usage != Usage::default() {
            out.push_back(ModelEvent::Usage(usage));
        }
        if status == "failed" {
            return Err(self.failed(response.error));
        }
        // Where no item came by itself, all of them come here.
        if self.done == 0
            && self.open.is_empty()
            && let Some(output) = response.output
        {
            let items: Vec<&RawValue> = self.read(output.get())?;
            for (index, item) in (0..).zip(items) {
                let item: Item<'_> = self.read(item.get())?;
                self.item_done(index, item, out)?;
            }
        }
        self.flush(status == "completed", out);
        let reason = response.incomplete_details.reason;
        let finish = match (status, reason.as_deref()) {
            ("completed", _) if self.calls > 0 => FinishReason::ToolCalls,
            ("completed", _) if self.refused => FinishReason::Refused,
            ("completed", _) => FinishReason::Stop,
            (_, Some("max_output_tokens" | "max_tokens")) => FinishReason::Length,
            (_, Some("content_filter")) => FinishReason::Refused,
            (status, reason) => FinishReason::Other(reason.unwrap_or(status).chars().take(64).collect()),
        };
        out.push_back(ModelEvent::Finished(finish));
        self.over = true;
        Ok(())
    }

    /// Gives out what is under way when the answer ends: it came no further.
    fn flush(&mut self, is_whole: bool, out: &mut Events) {
        let mut open = std::mem::take(&mut self.open);
        open.sort_by_key(|item| item.index);
        for item in open {
            self.give_up(item, is_whole, out);
        }
    }

    /// Gives out an item as far as it came. A call counts as whole where it was done, and so was the answer.
    fn give_up(&self, item: OpenItem, is_whole: bool, out: &mut Events) {
        let OpenItem { kind, told, .. } = item;
        let part = match kind {
            Kind::Text if told.is_empty() => return,
            Kind::Text => Part::text(told),
            // It has no encrypted form yet.
            Kind::Thinking => Part::Thinking { text: told, opaque: None },
            Kind::Call { name, call_id, is_done, .. } => {
                Part::ToolCall(self.tool_call(name, call_id, told, !(is_done && is_whole)))
            }
        };
        out.push_back(ModelEvent::Part(part));
    }

    fn failed(&self, error: Option<&RawValue>) -> Failure {
        let value = error.and_then(|error| serde_json::from_str(error.get()).ok());
        let said = value.map_or_else(|| Said::new("server_error", ""), |value| Said::in_value(&value));
        failure::in_stream(&self.config, &self.model, &said)
    }

    fn opaque(&self, data: &serde_json::Value) -> Opaque {
        Opaque { provider: Arc::clone(&self.config.name), data: RawJson::from(data) }
    }
}

/// What stands between the parts of a summary.
const PARAGRAPH: &str = "\n\n";

fn joined(parts: &[ContentPart], between: &str) -> String {
    let texts: Vec<_> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
    texts.join(between)
}

/// What of a whole was not told.
fn rest(told: &str, whole: &str) -> Option<String> {
    whole.strip_prefix(told).filter(|rest| !rest.is_empty()).map(str::to_owned)
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent<'_>, out: &mut Events) -> Result<(), Failure> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        // The name of an event is its type; where a proxy lost it, it stands inside as well.
        let head: Head<'_>;
        let kind = match &*event.name {
            "" | "message" => {
                head = self.read(data)?;
                &*head.r#type
            }
            name => name,
        };
        match kind {
            "response.created" => {
                let begun: Begun<'_> = self.read(data)?;
                self.start(begun.response.model.as_deref(), out);
            }
            "response.output_text.delta" => {
                let delta: Delta = self.read(data)?;
                self.text(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.refusal.delta" => {
                let delta: Delta = self.read(data)?;
                self.refused = true;
                self.text(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.reasoning_summary_part.added" => {
                let part: SummaryPart = self.read(data)?;
                self.summary_part(part.output_index, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let delta: Delta = self.read(data)?;
                self.thinking(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.function_call_arguments.delta" => {
                let delta: Delta = self.read(data)?;
                self.arguments(delta.output_index, delta.delta.unwrap_or_default(), out);
            }
            "response.output_item.added" => {
                let added: ItemEvent<'_> = self.read(data)?;
                self.added(added.output_index, &added.item, out)?;
            }
            "response.output_item.done" => {
                let done: ItemEvent<'_> = self.read(data)?;
                self.item_done(done.output_index, done.item, out)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let status = kind.trim_start_matches("response.").to_owned();
                let ended: Ended<'_> = self.read(data)?;
                self.ended(&status, ended.response, out)?;
            }
            "error" => {
                let said = Said::in_text(data).unwrap_or_else(|| Said::new("", data));
                return Err(failure::in_stream(&self.config, &self.model, &said));
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Events) -> Result<(), Failure> {
        let response: Response<'_> = self.read(body)?;
        let status = response.status.as_deref().unwrap_or_default().to_owned();
        let is_over = matches!(&*status, "completed" | "incomplete" | "failed");
        if !is_over {
            return Err(match Said::in_text(body) {
                Some(said) => failure::in_stream(&self.config, &self.model, &said),
                None => failure::protocol(&self.config, "the answer has no status", body),
            });
        }
        self.ended(&status, response, out)
    }

    fn end(&mut self, _: &mut Events) -> Result<(), Failure> {
        if self.over { Ok(()) } else { Err(failure::cut_off(&self.config)) }
    }

    fn progress(&self) -> Progress {
        if self.over { Progress::Over } else { Progress::Going }
    }
}
