//! Decoder for the responses of the Responses API: items that begin, grow and end, one after the other or in parallel,
//! distinguished by `output_index`.
//!
//! An item is complete when it is done. If the response ends early, an open item is emitted as far as it came: text as
//! it is, a call as a cut call.

use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use toolway_types::RawJson;

use super::event::{
    EndedResponse, OutputContentPart, OutputItemDelta, OutputItemEvent, ResponseCreatedEvent,
    ResponseEndedEvent, ResponsesEventType, ResponsesOutputItem, SummaryPartEvent,
};
use super::input::StoredReasoning;
use super::open_items::{OpenItemKind, OpenItems, PARAGRAPH_BREAK};
use crate::config::ProviderConfig;
use crate::event::{FinishReason, ModelEvent};
use crate::failure::{AttemptFailure, ProviderErrorBody};
use crate::message::{MessagePart, OpaqueState};
use crate::request::ModelRequest;
use crate::response::{DONE_MARKER, DecoderState, ModelEventQueue, ResponseDecoder};
use crate::tools::ConvertedTools;
use crate::transport::SseEvent;
use crate::usage::ModelUsage;

/// Decodes one response.
pub(super) struct ResponsesDecoder {
    state: DecoderState,
    items: OpenItems,
    /// Number of items that are done.
    finished_items: usize,
    refused: bool,
}

impl ResponsesDecoder {
    pub(super) fn new(
        config: &Arc<ProviderConfig>,
        request: &ModelRequest,
        restore: Option<Arc<ConvertedTools>>,
    ) -> Self {
        Self {
            items: OpenItems::new(Arc::clone(config), Arc::clone(&request.tools), restore),
            state: DecoderState::new(config, request),
            finished_items: 0,
            refused: false,
        }
    }

    /// Handles a complete item.
    fn item_done(
        &mut self,
        index: u64,
        item: ResponsesOutputItem<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        self.finished_items += 1;
        match &*item.r#type {
            "message" => self.message_done(index, &item, out),
            "reasoning" => self.reasoning_done(index, &item, out),
            "function_call" => {
                self.items.add_item(index, &item, out)?;
                self.items.finish_call(index, item, out);
            }
            // Tools that run at OpenAI, which are not asked for.
            _ => {}
        }
        Ok(())
    }

    fn message_done(&mut self, index: u64, item: &ResponsesOutputItem<'_>, out: &mut ModelEventQueue) {
        let mut text = String::new();
        for part in &item.content {
            text.push_str(part.text.as_deref().unwrap_or_default());
            if let Some(refusal) = &part.refusal {
                self.refused = true;
                text.push_str(refusal);
            }
        }
        if let Some(rest) = self.items.take_unreported(index, &OpenItemKind::Text, &text, out) {
            out.push_back(ModelEvent::Text(rest));
        }
        let phase = item.phase.filter(|phase| phase.get() != "null");
        let opaque = phase.map(|phase| self.items.opaque(&json!({ "phase": phase })));
        if !text.is_empty() {
            out.push_back(ModelEvent::Part(MessagePart::Text { text, opaque }));
        }
    }

    fn reasoning_done(&mut self, index: u64, item: &ResponsesOutputItem<'_>, out: &mut ModelEventQueue) {
        let summary =
            item.summary.and_then(|raw| serde_json::from_str::<Vec<OutputContentPart>>(raw.get()).ok());
        let summary = join_text(summary.as_deref().unwrap_or_default(), PARAGRAPH_BREAK);
        let text = if summary.is_empty() { join_text(&item.content, "") } else { summary };
        if let Some(rest) = self.items.take_unreported(index, &OpenItemKind::Thinking, &text, out) {
            out.push_back(ModelEvent::Thinking(rest));
        }
        // Without its encrypted form it can't be sent back, since nothing is kept at the provider's.
        let encrypted = item.encrypted_content.filter(|encrypted| encrypted.get() != "null");
        let opaque = match (&item.id, encrypted) {
            (Some(id), Some(encrypted)) => self.reasoning_state(id, item.summary, encrypted),
            _ => None,
        };
        if !text.is_empty() || opaque.is_some() {
            out.push_back(ModelEvent::Part(MessagePart::Thinking { text, opaque }));
        }
    }

    /// Returns the item in the form in which it is sent back. The API refuses the field `status` there.
    fn reasoning_state(
        &self,
        id: &str,
        summary: Option<&RawValue>,
        encrypted: &RawValue,
    ) -> Option<OpaqueState> {
        #[derive(serde::Serialize)]
        struct ReasoningItem<'a> {
            r#type: &'static str,
            id: &'a str,
            summary: &'a RawValue,
            encrypted_content: &'a RawValue,
        }
        let empty = serde_json::from_str::<&RawValue>("[]").ok()?;
        let summary = summary.unwrap_or(empty);
        let item = ReasoningItem { r#type: "reasoning", id, summary, encrypted_content: encrypted };
        let item = RawJson::from_value(&item).ok()?;
        let data =
            RawJson::from_value(&StoredReasoning { model: self.state.model.to_string(), item }).ok()?;
        Some(self.state.opaque(data))
    }

    /// Ends the response.
    fn end_response(
        &mut self,
        status: &str,
        response: EndedResponse<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        self.state.start(response.model.as_deref(), out);
        let usage = response.usage.usage();
        if usage != ModelUsage::default() {
            out.push_back(ModelEvent::Usage(usage));
        }
        if status == "failed" {
            return Err(self.stream_failure(response.error));
        }
        // Where no item came by itself, all of them come here.
        if self.finished_items == 0
            && self.items.is_empty()
            && let Some(output) = response.output
        {
            let items: Vec<&RawValue> = self.state.parse(output.get())?;
            for (index, item) in (0..).zip(items) {
                let item: ResponsesOutputItem<'_> = self.state.parse(item.get())?;
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
            (status, reason) => FinishReason::other(reason.unwrap_or(status)),
        };
        self.state.end(finish, out);
        Ok(())
    }

    fn stream_failure(&self, error: Option<&RawValue>) -> AttemptFailure {
        let value = error.and_then(|error| serde_json::from_str(error.get()).ok());
        let said = value.map_or_else(
            || ProviderErrorBody::new("server_error", ""),
            |value| ProviderErrorBody::from_value(&value),
        );
        self.state.provider_failure(&said)
    }
}

fn join_text(parts: &[OutputContentPart], between: &str) -> String {
    let texts: Vec<_> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
    texts.join(between)
}

impl ResponseDecoder for ResponsesDecoder {
    fn state(&self) -> &DecoderState {
        &self.state
    }

    fn decode_event(
        &mut self,
        event: &SseEvent<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        let Some(data) = self.state.event_data(event)?.filter(|data| *data != DONE_MARKER) else {
            return Ok(());
        };
        // The name of an event is its type; where a proxy lost it, it stands inside as well.
        let head: ResponsesEventType<'_>;
        let kind = match &*event.name {
            "" | "message" => {
                head = self.state.parse(data)?;
                &*head.r#type
            }
            name => name,
        };
        match kind {
            "response.created" => {
                let begun: ResponseCreatedEvent<'_> = self.state.parse(data)?;
                self.state.start(begun.response.model.as_deref(), out);
            }
            "response.output_text.delta" => {
                let delta: OutputItemDelta = self.state.parse(data)?;
                self.items.push_text(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.refusal.delta" => {
                let delta: OutputItemDelta = self.state.parse(data)?;
                self.refused = true;
                self.items.push_text(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.reasoning_summary_part.added" => {
                let part: SummaryPartEvent = self.state.parse(data)?;
                self.items.start_summary_part(part.output_index, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let delta: OutputItemDelta = self.state.parse(data)?;
                self.items.push_thinking(delta.output_index, delta.delta.unwrap_or_default(), out)?;
            }
            "response.function_call_arguments.delta" => {
                let delta: OutputItemDelta = self.state.parse(data)?;
                self.items.push_arguments(delta.output_index, delta.delta.unwrap_or_default(), out);
            }
            "response.output_item.added" => {
                let added: OutputItemEvent<'_> = self.state.parse(data)?;
                self.items.add_item(added.output_index, &added.item, out)?;
            }
            "response.output_item.done" => {
                let done: OutputItemEvent<'_> = self.state.parse(data)?;
                self.item_done(done.output_index, done.item, out)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let status = kind.trim_start_matches("response.").to_owned();
                let ended: ResponseEndedEvent<'_> = self.state.parse(data)?;
                self.end_response(&status, ended.response, out)?;
            }
            "error" => return Err(self.state.provider_failure_in(data)),
            _ => {}
        }
        Ok(())
    }

    fn decode_whole(&mut self, body: &str, out: &mut ModelEventQueue) -> Result<(), AttemptFailure> {
        let response: EndedResponse<'_> = self.state.parse(body)?;
        let status = response.status.as_deref().unwrap_or_default().to_owned();
        let is_over = matches!(&*status, "completed" | "incomplete" | "failed");
        if !is_over {
            return Err(self.state.incomplete_body("the response has no status", body));
        }
        self.end_response(&status, response, out)
    }
}
