//! The open items of a response: the content of each, and the part of it that was emitted.

use std::mem::discriminant;
use std::sync::Arc;

use serde_json::json;
use toolway_types::{CallId, RawJson};

use super::event::ResponsesOutputItem;
use crate::call_arguments::is_object;
use crate::config::ProviderConfig;
use crate::event::ModelEvent;
use crate::failure::{self, AttemptFailure};
use crate::message::{MessagePart, OpaqueState, ToolCall};
use crate::response::{MAX_RESPONSE_ITEMS, ModelEventQueue};
use crate::tools::{ConvertedTools, ToolSet};

/// Separator between the parts of a summary.
pub(super) const PARAGRAPH_BREAK: &str = "\n\n";

/// The open items.
pub(super) struct OpenItems {
    config: Arc<ProviderConfig>,
    tools: Arc<ToolSet>,
    /// Tools that convert arguments from strict form.
    argument_tools: Option<Arc<ConvertedTools>>,
    open: Vec<OpenItem>,
    /// Number of calls so far.
    calls: usize,
}

/// An open item.
struct OpenItem {
    index: u64,
    kind: OpenItemKind,
    /// Its text so far, all of which was emitted.
    reported_text: String,
}

pub(super) enum OpenItemKind {
    Text,
    Thinking,
    Call { index: usize, name: String, call_id: String, is_done: bool },
}

impl OpenItems {
    pub(super) fn new(
        config: Arc<ProviderConfig>,
        tools: Arc<ToolSet>,
        restore: Option<Arc<ConvertedTools>>,
    ) -> Self {
        Self { config, tools, argument_tools: restore, open: Vec::new(), calls: 0 }
    }

    /// Returns whether no item is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns whether the model called a tool.
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// Returns the item with this index and kind. Creates it if it does not exist.
    fn item(
        &mut self,
        index: u64,
        kind: OpenItemKind,
        out: &mut ModelEventQueue,
    ) -> Result<&mut OpenItem, AttemptFailure> {
        self.end_other(index, &kind, out);
        let at = match self.open.iter().position(|item| item.index == index) {
            Some(at) => at,
            None if self.open.len() >= MAX_RESPONSE_ITEMS => return Err(self.too_many_items()),
            None => {
                self.open.push(OpenItem { index, kind, reported_text: String::new() });
                self.open.len() - 1
            }
        };
        // Just found, or just put there.
        self.open.get_mut(at).ok_or_else(|| failure::truncated_response(&self.config))
    }

    /// Gives out an item of this index that is of another kind: no item changes its kind, so this is another one.
    fn end_other(&mut self, index: u64, kind: &OpenItemKind, out: &mut ModelEventQueue) {
        let other = |item: &OpenItem| item.index == index && discriminant(&item.kind) != discriminant(kind);
        if let Some(at) = self.open.iter().position(other) {
            let item = self.open.remove(at);
            self.flush_item(item, false, out);
        }
    }

    fn too_many_items(&self) -> AttemptFailure {
        failure::protocol_failure(
            &self.config,
            &format!("the response has more than {MAX_RESPONSE_ITEMS} items at once"),
            "",
        )
    }

    /// More text.
    pub(super) fn push_text(
        &mut self,
        index: u64,
        delta: String,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        if !delta.is_empty() {
            self.item(index, OpenItemKind::Text, out)?.reported_text.push_str(&delta);
            out.push_back(ModelEvent::Text(delta));
        }
        Ok(())
    }

    /// More thinking.
    pub(super) fn push_thinking(
        &mut self,
        index: u64,
        delta: String,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        if !delta.is_empty() {
            self.item(index, OpenItemKind::Thinking, out)?.reported_text.push_str(&delta);
            out.push_back(ModelEvent::Thinking(delta));
        }
        Ok(())
    }

    /// Parts of a summary are paragraphs.
    pub(super) fn start_summary_part(
        &mut self,
        index: u64,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        let has_more = self.open.iter().any(|item| item.index == index && !item.reported_text.is_empty());
        if has_more { self.push_thinking(index, PARAGRAPH_BREAK.to_owned(), out) } else { Ok(()) }
    }

    /// More of a call's arguments.
    pub(super) fn push_arguments(&mut self, index: u64, delta: String, out: &mut ModelEventQueue) {
        let item = self.open.iter_mut().find(|item| item.index == index);
        if let Some(OpenItem { kind: OpenItemKind::Call { index, .. }, reported_text: told, .. }) = item {
            told.push_str(&delta);
            out.push_back(ModelEvent::ToolCallArguments { index: *index, delta });
        }
    }

    /// Starts a call. Other items start with their first content.
    pub(super) fn add_item(
        &mut self,
        index: u64,
        item: &ResponsesOutputItem<'_>,
        out: &mut ModelEventQueue,
    ) -> Result<(), AttemptFailure> {
        let is_known =
            |open: &OpenItem| open.index == index && matches!(open.kind, OpenItemKind::Call { .. });
        if item.r#type != "function_call" || self.open.iter().any(is_known) {
            return Ok(());
        }
        if self.calls >= MAX_RESPONSE_ITEMS {
            return Err(self.too_many_items());
        }
        let sent = item.name.as_deref().unwrap_or_default();
        let name = self.tools.original_name(sent).to_owned();
        let call_id = item.call_id.as_deref().unwrap_or_default().to_owned();
        let kind = OpenItemKind::Call { index: self.calls, name: name.clone(), call_id, is_done: false };
        self.item(index, kind, out)?;
        out.push_back(ModelEvent::ToolCallStarted { index: self.calls, name });
        self.calls += 1;
        Ok(())
    }

    /// Completes a call.
    pub(super) fn finish_call(
        &mut self,
        index: u64,
        item: ResponsesOutputItem<'_>,
        out: &mut ModelEventQueue,
    ) {
        let of_it = |open: &&mut OpenItem| open.index == index;
        let Some(open) = self.open.iter_mut().find(of_it) else { return };
        let OpenItemKind::Call { index: call, call_id, is_done, .. } = &mut open.kind else { return };
        *is_done = true;
        let arguments = item.arguments.filter(|arguments| !arguments.is_empty());
        if let Some(rest) = arguments.as_deref().and_then(|whole| unreported_rest(&open.reported_text, whole))
        {
            out.push_back(ModelEvent::ToolCallArguments { index: *call, delta: rest });
        }
        open.reported_text = arguments.unwrap_or_else(|| std::mem::take(&mut open.reported_text));
        if let Some(id) = item.call_id.filter(|id| !id.is_empty()) {
            *call_id = id.into_owned();
        }
        // Whether the limit cut it is seen only at the end of the answer.
        if open.reported_text.is_empty() || is_object(&open.reported_text) {
            let at = self.open.iter().position(|open| open.index == index);
            let item = at.map(|at| self.open.remove(at));
            item.into_iter().for_each(|item| self.flush_item(item, true, out));
        }
    }

    fn tool_call(&self, name: String, call_id: String, arguments: String, is_cut: bool) -> ToolCall {
        let arguments = match &self.argument_tools {
            Some(tools) if !is_cut => tools.restore_arguments(&name, arguments),
            _ => arguments,
        };
        let opaque = (!call_id.is_empty()).then(|| self.opaque(&json!({ "id": call_id })));
        ToolCall { id: CallId::new(), name, arguments, is_cut, opaque }
    }

    /// Closes an item and returns the rest of its text that was not emitted.
    pub(super) fn take_unreported(
        &mut self,
        index: u64,
        kind: &OpenItemKind,
        whole: &str,
        out: &mut ModelEventQueue,
    ) -> Option<String> {
        self.end_other(index, kind, out);
        let at = self.open.iter().position(|item| item.index == index);
        let told = at.map(|at| self.open.remove(at).reported_text).unwrap_or_default();
        unreported_rest(&told, whole)
    }

    /// Emits the open items at the end of the response.
    pub(super) fn flush(&mut self, is_whole: bool, out: &mut ModelEventQueue) {
        let mut open = std::mem::take(&mut self.open);
        open.sort_by_key(|item| item.index);
        for item in open {
            self.flush_item(item, is_whole, out);
        }
    }

    /// Emits an item as far as it arrived. A call is complete if it was done, and the response was too.
    fn flush_item(&self, item: OpenItem, is_whole: bool, out: &mut ModelEventQueue) {
        let OpenItem { kind, reported_text: told, .. } = item;
        let part = match kind {
            OpenItemKind::Text if told.is_empty() => return,
            OpenItemKind::Text => MessagePart::text(told),
            // It has no encrypted form yet.
            OpenItemKind::Thinking => MessagePart::Thinking { text: told, opaque: None },
            OpenItemKind::Call { name, call_id, is_done, .. } => {
                MessagePart::ToolCall(self.tool_call(name, call_id, told, !(is_done && is_whole)))
            }
        };
        out.push_back(ModelEvent::Part(part));
    }

    /// Data that goes back to the provider with a part.
    pub(super) fn opaque(&self, data: &serde_json::Value) -> OpaqueState {
        OpaqueState { provider: Arc::clone(&self.config.name), data: RawJson::from(data) }
    }
}

/// Returns the rest of a text after the part that was emitted.
fn unreported_rest(told: &str, whole: &str) -> Option<String> {
    whole.strip_prefix(told).filter(|rest| !rest.is_empty()).map(str::to_owned)
}
