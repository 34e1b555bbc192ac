//! Repairs a conversation so that every model provider accepts it: each tool call has exactly one result, the
//! results of an answer are in the next message and in order, and nothing else has results. Providers reject
//! other histories. Without the repair, one aborted call would make every later request of the conversation fail.
//!
//! No text is ever dropped: a result without a call becomes a text, and a call without a result gets an
//! error. Repairing a valid conversation changes nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use toolway_models::{MessagePart, MessageRole, ModelMessage, OpaqueState, ToolCall, ToolResult};
use toolway_types::{CallId, Code, ContentPart, JsonObject, Outcome, RawJson, ToolError, ToolOutput};

/// Changes made by the repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairSummary {
    /// True if anything was changed.
    pub changed: bool,
    /// Calls without a result.
    pub unanswered_calls: usize,
    /// Results without a call, or duplicate results.
    pub orphaned_results: usize,
    /// Calls with a duplicate id.
    pub renamed_calls: usize,
}

/// Repairs a conversation. `known` returns the outcome of a call whose result is missing, if it is known:
/// call records have it if the gateway stopped between a call's end and the next message.
pub fn repair(
    messages: &mut Vec<ModelMessage>,
    known: &dyn Fn(&ToolCall) -> Option<Outcome>,
) -> RepairSummary {
    if is_whole(messages) {
        return RepairSummary::default();
    }
    let pieces = split_segments(std::mem::take(messages));
    let mut mender = TranscriptRepairer::new(pieces.iter());
    mender.summary.changed = true;
    for (at, piece) in pieces.into_iter().enumerate() {
        match piece {
            TranscriptSegment::Message(message) => messages.push(message),
            TranscriptSegment::Answer(mut message) => {
                let calls = message.parts.iter_mut().filter_map(|part| match part {
                    MessagePart::ToolCall(call) => Some(call),
                    _ => None,
                });
                let parts = calls
                    .map(|call| MessagePart::ToolResult(mender.result_for_call(at, call, known)))
                    .collect();
                messages.push(message);
                messages.push(ModelMessage { role: MessageRole::Tool, parts });
            }
            TranscriptSegment::Result(_) => {
                if let Some(left) = mender.leftover_result(at) {
                    messages.push(ModelMessage { role: MessageRole::User, parts: as_text(&left) });
                }
            }
        }
    }
    mender.summary
}

/// Returns whether a conversation needs no repair.
#[must_use]
pub fn is_whole(messages: &[ModelMessage]) -> bool {
    let mut ids = HashSet::new();
    let mut rest = messages;
    while let [message, after @ ..] = rest {
        rest = after;
        let is_empty = message.parts.is_empty() || message.parts.iter().any(is_empty_part);
        if is_empty || !message.parts.iter().all(|part| is_allowed_in_role(part, message.role)) {
            return false;
        }
        let calls: Vec<CallId> = message.tool_calls().map(|call| call.id).collect();
        if message.role == MessageRole::Tool || !calls.iter().all(|id| ids.insert(*id)) {
            // Results are checked together with their calls, below.
            return false;
        }
        if calls.is_empty() {
            continue;
        }
        let [results, after @ ..] = rest else { return false };
        let of = |part: &MessagePart| match part {
            MessagePart::ToolResult(result) => Some(result.call_id),
            _ => None,
        };
        let answered = results.parts.iter().map(of);
        if results.role != MessageRole::Tool || !answered.eq(calls.into_iter().map(Some)) {
            return false;
        }
        rest = after;
    }
    true
}

/// Returns whether a message of a role may contain a part.
fn is_allowed_in_role(part: &MessagePart, role: MessageRole) -> bool {
    match part {
        MessagePart::Text { .. } | MessagePart::Image { .. } => role != MessageRole::Tool,
        MessagePart::Thinking { .. } | MessagePart::ToolCall(_) => role == MessageRole::Assistant,
        MessagePart::ToolResult(_) => role == MessageRole::Tool,
    }
}

/// Returns whether a part is empty.
fn is_empty_part(part: &MessagePart) -> bool {
    match part {
        MessagePart::Text { text, opaque } | MessagePart::Thinking { text, opaque } => {
            text.is_empty() && opaque.is_none()
        }
        _ => false,
    }
}

/// A segment of a conversation.
enum TranscriptSegment {
    /// A message without calls and results.
    Message(ModelMessage),
    /// A model's message with calls.
    Answer(ModelMessage),
    /// A result at any position.
    Result(ToolResult),
}

/// Splits a conversation into segments: messages with only the parts that are allowed in them, and results.
fn split_segments(messages: Vec<ModelMessage>) -> Vec<TranscriptSegment> {
    let mut pieces = Vec::with_capacity(messages.len());
    for message in messages {
        let mut results = Vec::new();
        // Other parts in a message of results count as a person's, because their author is unknown.
        let role = if message.role == MessageRole::Tool { MessageRole::User } else { message.role };
        let mut kept = ModelMessage { role, parts: Vec::with_capacity(message.parts.len()) };
        for part in message.parts.into_iter().filter(|part| !is_empty_part(part)) {
            match part {
                MessagePart::ToolResult(result) => results.push(TranscriptSegment::Result(result)),
                part if is_allowed_in_role(&part, role) => kept.parts.push(part),
                MessagePart::Thinking { text, .. } if text.is_empty() => {}
                MessagePart::Thinking { text, .. } => kept.parts.push(MessagePart::text(text)),
                MessagePart::ToolCall(call) => {
                    let text = format!("[A call of the tool {}]\n{}", call.name, call.arguments);
                    kept.parts.push(MessagePart::text(text));
                }
                MessagePart::Text { .. } | MessagePart::Image { .. } => {}
            }
        }
        let said = match kept.parts.as_slice() {
            [] => None,
            parts if parts.iter().any(|part| matches!(part, MessagePart::ToolCall(_))) => {
                Some(TranscriptSegment::Answer(kept))
            }
            _ => Some(TranscriptSegment::Message(kept)),
        };
        // Results come first: other parts beside them do not belong to the answer.
        if message.role == MessageRole::Tool {
            pieces.extend(results);
            pieces.extend(said);
        } else {
            pieces.extend(said);
            pieces.extend(results);
        }
    }
    pieces
}

/// State while a conversation is repaired.
struct TranscriptRepairer {
    summary: RepairSummary,
    /// Unused results, by position.
    results: HashMap<usize, ToolResult>,
    /// By id: the positions of its results, and of the messages with a call of it.
    places: HashMap<CallId, (Vec<usize>, Vec<usize>)>,
    /// Ids of calls that were already added.
    used: HashSet<CallId>,
    taken: HashMap<CallId, Arc<Outcome>>,
}

impl TranscriptRepairer {
    fn new<'p>(pieces: impl Iterator<Item = &'p TranscriptSegment>) -> Self {
        let mut mender = Self {
            summary: RepairSummary::default(),
            results: HashMap::new(),
            places: HashMap::new(),
            used: HashSet::new(),
            taken: HashMap::new(),
        };
        for (at, piece) in pieces.enumerate() {
            match piece {
                TranscriptSegment::Message(_) => {}
                TranscriptSegment::Answer(message) => {
                    for call in message.tool_calls() {
                        mender.places.entry(call.id).or_default().1.push(at);
                    }
                }
                TranscriptSegment::Result(result) => {
                    mender.places.entry(result.call_id).or_default().0.push(at);
                    mender.results.insert(at, result.clone());
                }
            }
        }
        mender
    }

    /// Returns the result of a call: the first one after it, except those that follow a later call with the
    /// same id.
    fn result_for_call(
        &mut self,
        at: usize,
        call: &mut ToolCall,
        known: &dyn Fn(&ToolCall) -> Option<Outcome>,
    ) -> ToolResult {
        let result = self.take(at, call.id);
        let outcome = result.map(|result| result.outcome).unwrap_or_else(|| {
            self.summary.unanswered_calls += 1;
            Arc::new(known(call).unwrap_or_else(|| unknown_outcome(call)))
        });
        self.taken.insert(call.id, Arc::clone(&outcome));
        if !self.used.insert(call.id) {
            self.rename(call);
        }
        ToolResult::new(call.id, call.name.clone(), outcome)
    }

    fn take(&mut self, at: usize, id: CallId) -> Option<ToolResult> {
        let (results, calls) = self.places.get(&id)?;
        let next_call = calls.iter().find(|place| **place > at).copied().unwrap_or(usize::MAX);
        let free = |place: &&usize| (at..next_call).contains(place) && self.results.contains_key(place);
        let place = *results.iter().find(free)?;
        self.results.remove(&place)
    }

    /// Gives a call a unique id, which is always the same for the same conversation.
    fn rename(&mut self, call: &mut ToolCall) {
        self.summary.renamed_calls += 1;
        let taken = |id: &CallId| self.used.contains(id) || self.places.contains_key(id);
        let mut id = call.id;
        while taken(&id) {
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(Sha256::digest(id.as_bytes())).for_each(|(byte, digit)| *byte = digit);
            id = CallId::from_bytes(bytes);
        }
        self.used.insert(id);
        call.id = id;
        call.opaque = call.opaque.take().map(without_id);
    }

    /// Returns a result without a call as text, unless it repeats the result of a call.
    fn leftover_result(&mut self, at: usize) -> Option<ToolResult> {
        let result = self.results.remove(&at)?;
        self.summary.orphaned_results += 1;
        let is_told = self.taken.get(&result.call_id).is_some_and(|outcome| *outcome == result.outcome);
        (!is_told).then_some(result)
    }
}

/// The provider's own id belongs to another call too.
fn without_id(opaque: OpaqueState) -> OpaqueState {
    let Ok(mut fields) = opaque.data.to::<JsonObject>() else { return opaque };
    if fields.remove("id").is_none() {
        return opaque;
    }
    OpaqueState { data: RawJson::from(&Value::Object(fields)), ..opaque }
}

/// Creates the outcome of a call with an unknown result.
fn unknown_outcome(call: &ToolCall) -> Outcome {
    let error = if call.is_cut || !is_valid_arguments(&call.arguments) {
        ToolError::new(
            Code::InvalidArguments,
            "The answer ended in the middle of the arguments, so this call did not run",
        )
        .with_hint("Call it again with whole arguments")
    } else {
        ToolError::new(Code::Cancelled, "The call was interrupted, so its result is not known")
            .with_hint("It may have had its effects; check that before you call it again")
            .with_dispatched(true)
    };
    Outcome::Error(error)
}

/// Returns whether a text is valid as arguments: an object, or empty.
fn is_valid_arguments(text: &str) -> bool {
    text.trim().is_empty() || serde_json::from_str::<JsonObject>(text).is_ok()
}

/// Converts a result to text parts.
fn as_text(result: &ToolResult) -> Vec<MessagePart> {
    let head = format!("[A result of the tool {}, whose call is not in this conversation]", result.name);
    let mut parts = vec![MessagePart::text(head)];
    match &*result.outcome {
        Outcome::Success(output) => parts.extend(output_as_text(output)),
        Outcome::Error(error) => {
            let hint = error.hint.as_deref().map(|hint| format!("\n{hint}")).unwrap_or_default();
            parts.push(MessagePart::text(format!("It failed: {}{hint}", error.message)));
        }
    }
    parts.retain(|part| !is_empty_part(part));
    parts
}

fn output_as_text(output: &ToolOutput) -> impl Iterator<Item = MessagePart> {
    let content = output.content.iter().map(|part| match part {
        ContentPart::Text { text } => MessagePart::text(text.clone()),
        ContentPart::Image { data, mime_type } => {
            MessagePart::Image { data: data.clone(), mime_type: mime_type.clone() }
        }
        ContentPart::Audio { mime_type, .. } => MessagePart::text(format!("[sound, {mime_type}]")),
        ContentPart::Resource { resource } => {
            let text = resource.get("text").and_then(Value::as_str);
            MessagePart::text(text.map_or_else(|| "[a file]".to_owned(), str::to_owned))
        }
        ContentPart::ResourceLink { uri, name, .. } => MessagePart::text(format!("{name}: {uri}")),
    });
    content.chain(output.structured.iter().map(|value| MessagePart::text(value.get())))
}

#[cfg(test)]
mod tests;
