//! Puts tool calls together that come in pieces. Servers differ in how they say which piece belongs to which call: by
//! an index, by an id, by both, or by nothing but their order.

use std::sync::Arc;

use serde_json::Map;
use serde_json::value::RawValue;
use toolway_types::RawJson;

use super::chunk::ToolCallDelta;
use crate::call_arguments::is_object;
use crate::event::{FinishReason, ModelEvent};
use crate::response::{MAX_RESPONSE_ITEMS, ModelEventQueue};
use crate::tools::ToolSet;

/// There are more than [`MAX_RESPONSE_ITEMS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyCalls;

/// The calls of one response so far.
#[derive(Debug)]
pub(super) struct ToolCallAssembler {
    tools: Arc<ToolSet>,
    calls: Vec<PartialToolCall>,
}

#[derive(Debug, Default)]
struct PartialToolCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<RawJson>,
    /// Number of argument bytes already emitted; `None` before the call itself was.
    reported_bytes: Option<usize>,
}

/// A call at the end of its response.
#[derive(Debug, PartialEq)]
pub(super) struct AssembledToolCall {
    /// The tool's own name.
    pub(super) name: String,
    /// As the model wrote them.
    pub(super) arguments: String,
    /// The response ended in the middle of the arguments.
    pub(super) is_cut: bool,
    /// Data that goes back to the server with the call.
    pub(super) data: Option<RawJson>,
}

impl ToolCallAssembler {
    pub(super) fn new(tools: Arc<ToolSet>) -> Self {
        Self { tools, calls: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a delta of a call, or a complete call from a server that does not stream, and emits the news.
    pub(super) fn push_delta(
        &mut self,
        delta: &ToolCallDelta<'_>,
        is_whole: bool,
        out: &mut ModelEventQueue,
    ) -> Result<(), TooManyCalls> {
        let (name, arguments) = match &delta.function {
            Some(function) => (function.name.as_deref().unwrap_or_default(), function.arguments),
            None => ("", None),
        };
        let id = delta.id.as_deref().unwrap_or_default();
        let known = if is_whole { None } else { self.find(delta.index, id, name) };
        if known.is_none() {
            if self.calls.len() >= MAX_RESPONSE_ITEMS {
                return Err(TooManyCalls);
            }
            self.calls.push(PartialToolCall { index: delta.index, ..PartialToolCall::default() });
        }
        let at = known.unwrap_or(self.calls.len() - 1);
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        } else if call.name != name && call.arguments.is_empty() {
            // The rest of the name: `find` would have begun another call otherwise.
            call.name.push_str(name);
        }
        if let Some(extra) = delta.extra_content.filter(|extra| extra.get() != "null") {
            call.extra = Some(RawJson::from(extra.to_owned()));
        }
        call.take_arguments(arguments);
        call.report_progress(at, &self.tools, out);
        Ok(())
    }

    /// Finds the call that a delta belongs to; `None` if it starts a new one.
    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if !id.is_empty() => return self.calls.iter().rposition(|call| call.id == id),
            None => self.calls.len().checked_sub(1)?,
        };
        let call = self.calls.get(at)?;
        // Some give every call the same index: then a name with another id, or after all was said, begins another.
        // Others repeat the name with every piece, or send it in several.
        let begins_another = !name.is_empty()
            && !call.name.is_empty()
            && match id.is_empty() || call.id.is_empty() {
                true if call.arguments.is_empty() && call.name != name => !self.continues_name(call, name),
                true => call.name != name || is_object(&call.arguments),
                false => call.id != id,
            };
        (!begins_another).then_some(at)
    }

    /// True if `name` is the rest of a call's name rather than the name of another call. At one index it is the rest,
    /// unless only the two names apart are known.
    fn continues_name(&self, call: &PartialToolCall, name: &str) -> bool {
        let is_known = |name: &str| self.tools.get(self.tools.original_name(name)).is_some();
        let joined = format!("{}{name}", call.name);
        is_known(&joined) || (call.index.is_some() && !(is_known(&call.name) && is_known(name)))
    }

    /// Returns all calls at the end of a response. Without a finish reason, the server said only that the response is
    /// over.
    pub(super) fn finish(&mut self, finish: Option<&FinishReason>) -> Vec<AssembledToolCall> {
        let mut ended = Vec::with_capacity(self.calls.len());
        let mut ids: Vec<String> = Vec::with_capacity(self.calls.len());
        for call in std::mem::take(&mut self.calls) {
            // Where the model came to its end, the arguments are what it wanted to say, good or bad.
            let is_cut = match finish {
                Some(FinishReason::Stop | FinishReason::ToolCalls) => false,
                None => !call.arguments.is_empty() && !is_object(&call.arguments),
                Some(_) => !is_object(&call.arguments),
            };
            // An id that stands for several calls names none of them.
            let id = Some(call.id).filter(|id| !id.is_empty() && !ids.contains(id));
            let mut data = Map::new();
            if let Some(id) = &id {
                data.insert("id".to_owned(), id.clone().into());
            }
            if let Some(extra) = call.extra {
                data.insert("extra_content".to_owned(), extra.to_value());
            }
            ids.extend(id);
            ended.push(AssembledToolCall {
                name: self.tools.original_name(&call.name).to_owned(),
                arguments: call.arguments,
                is_cut,
                data: (!data.is_empty()).then(|| RawJson::from(&data.into())),
            });
        }
        ended
    }
}

impl PartialToolCall {
    fn take_arguments(&mut self, arguments: Option<&RawValue>) {
        let Some(text) = arguments.map(RawValue::get) else { return };
        match serde_json::from_str::<String>(text) {
            Ok(piece) => self.arguments.push_str(&piece),
            Err(_) if text == "null" => {}
            // An object in place of its text.
            Err(_) => self.arguments.push_str(text),
        }
    }

    /// Emits the arguments that were not emitted yet. Nothing is emitted before the name is known. A name that no tool
    /// has, or that is the beginning of another tool's name, may be the first part of one, until the arguments begin.
    fn report_progress(&mut self, at: usize, tools: &ToolSet, out: &mut ModelEventQueue) {
        let is_tool = tools.get(tools.original_name(&self.name)).is_some();
        let is_complete = is_tool && !tools.has_longer_name(&self.name);
        if self.name.is_empty() || (!is_complete && self.arguments.is_empty()) {
            return;
        }
        if self.reported_bytes.is_none() {
            let name = tools.original_name(&self.name).to_owned();
            out.push_back(ModelEvent::ToolCallStarted { index: at, name });
        }
        let told = self.reported_bytes.replace(self.arguments.len()).unwrap_or_default();
        if let Some(delta) = self.arguments.get(told..).filter(|delta| !delta.is_empty()) {
            out.push_back(ModelEvent::ToolCallArguments { index: at, delta: delta.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests;
