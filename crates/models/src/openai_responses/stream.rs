//! Understands the answers of the Responses API: items that begin, grow and are done, one after the other or side by
//! side, told apart by `output_index`.
//!
//! An item counts as whole when it is done. One that is under way when the answer ends before its time is given out
//! as far as it came: text as it is, a call as one that is cut.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolway_types::RawJson;

use super::event::{Begun, ContentPart, Delta, Ended, Head, Item, ItemEvent, Response, SummaryPart};
use super::input::Thought;
use super::items::{Items, Kind, PARAGRAPH};
use crate::answer::{Decoder, Events, Progress, not_understood};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{self, Failure, Said};
use crate::message::{Opaque, Part};
use crate::request::ModelRequest;
use crate::tools::ConvertedTools;
use crate::transport::SseEvent;
use crate::usage::Usage;

/// The decoder.
pub(super) struct ResponsesDecoder {
    config: Arc<ProviderConfig>,
    model: Arc<str>,
    started: bool,
    items: Items,
    /// How many items are done.
    done: usize,
    refused: bool,
    over: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(
        config: Arc<ProviderConfig>,
        request: &ModelRequest,
        restore: Option<Arc<ConvertedTools>>,
    ) -> Self {
        Self {
            items: Items::new(Arc::clone(&config), Arc::clone(&request.tools), restore),
            config,
            model: Arc::clone(&request.model),
            started: false,
            done: 0,
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

    /// An item is whole.
    fn item_done(&mut self, index: u64, item: Item<'_>, out: &mut Events) -> Result<(), Failure> {
        self.done += 1;
        match &*item.r#type {
            "message" => self.message_done(index, &item, out),
            "reasoning" => self.thought_done(index, &item, out),
            "function_call" => {
                self.items.added(index, &item, out)?;
                self.items.call_done(index, item, out);
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
        if let Some(rest) = self.items.untold(index, &Kind::Text, &text, out) {
            out.push_back(ModelEvent::Text(rest));
        }
        let phase = item.phase.filter(|phase| phase.get() != "null");
        let opaque = phase.map(|phase| self.items.opaque(&json!({ "phase": phase })));
        if !text.is_empty() {
            out.push_back(ModelEvent::Part(Part::Text { text, opaque }));
        }
    }

    fn thought_done(&mut self, index: u64, item: &Item<'_>, out: &mut Events) {
        let summary = item.summary.and_then(|raw| serde_json::from_str::<Vec<ContentPart>>(raw.get()).ok());
        let summary = joined(summary.as_deref().unwrap_or_default(), PARAGRAPH);
        let text = if summary.is_empty() { joined(&item.content, "") } else { summary };
        if let Some(rest) = self.items.untold(index, &Kind::Thinking, &text, out) {
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
            && self.items.is_empty()
            && let Some(output) = response.output
        {
            let items: Vec<&RawValue> = self.read(output.get())?;
            for (index, item) in (0..).zip(items) {
                let item: Item<'_> = self.read(item.get())?;
                self.item_done(index, item, out)?;
            }
        }
        self.items.flush(status == "completed", out);
        let reason = response.incomplete_details.reason;
        let finish = match (status, reason.as_deref()) {
            ("completed", _) if self.items.has_calls() => FinishReason::ToolCalls,
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

    fn failed(&self, error: Option<&RawValue>) -> Failure {
        let value = error.and_then(|error| serde_json::from_str(error.get()).ok());
        let said = value.map_or_else(|| Said::new("server_error", ""), |value| Said::in_value(&value));
        failure::in_stream(&self.config, &self.model, &said)
    }
}

fn joined(parts: &[ContentPart], between: &str) -> String {
    let texts: Vec<_> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
    texts.join(between)
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
                self.items.text(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.refusal.delta" => {
                let delta: Delta = self.read(data)?;
                self.refused = true;
                self.items.text(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.reasoning_summary_part.added" => {
                let part: SummaryPart = self.read(data)?;
                self.items.summary_part(part.output_index, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let delta: Delta = self.read(data)?;
                self.items.thinking(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.function_call_arguments.delta" => {
                let delta: Delta = self.read(data)?;
                self.items.arguments(delta.output_index, delta.delta.unwrap_or_default(), out);
            }
            "response.output_item.added" => {
                let added: ItemEvent<'_> = self.read(data)?;
                self.items.added(added.output_index, &added.item, out)?;
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
