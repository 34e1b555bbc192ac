//! Validates dependencies between messages: results and calls, calls and thinking.

use serde_json::Value;

use super::{MessagesCheckResult, is_thinking, refuse};
use crate::validation::fields::{list, text};

/// Returns the blocks of a message; a string is one text block.
pub(super) fn blocks(message: &Value) -> &[Value] {
    list(message, "content")
}

/// Checks that all results of calls come first in the next message, and that no result lacks a call.
pub(super) fn results_answer_calls(messages: &[Value], number: usize) -> MessagesCheckResult {
    let of = |message: Option<&'_ Value>, kind: &str, field: &str| -> Vec<String> {
        let blocks = message.map(blocks).unwrap_or_default().iter();
        blocks
            .filter(|block| text(block, "type") == kind)
            .map(|block| text(block, field).to_owned())
            .collect()
    };
    let here = messages.get(number);
    let calls = of(here, "tool_use", "id");
    let answers = of(messages.get(number + 1), "tool_result", "tool_use_id");
    let unanswered: Vec<_> = calls.iter().filter(|id| !answers.contains(id)).cloned().collect();
    if !unanswered.is_empty() {
        return refuse(format!(
            "messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message.",
            unanswered.join(", ")
        ));
    }
    let before = number.checked_sub(1).and_then(|before| messages.get(before));
    let asked = of(before, "tool_use", "id");
    let results = of(here, "tool_result", "tool_use_id");
    if let Some(id) = results.iter().find(|id| !asked.contains(id)) {
        return refuse(format!(
            "messages.{number}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
             `tool_result` block must have a corresponding `tool_use` block in the previous message."
        ));
    }
    for (index, id) in results.iter().enumerate() {
        if results.iter().take(index).any(|other| other == id) {
            return refuse(format!(
                "messages.{number}.content.{index}: each tool_use must have a single result. Found multiple \
                 `tool_result` blocks with id: {id}"
            ));
        }
    }
    let all = here.map(blocks).unwrap_or_default();
    let first_other = all.iter().position(|block| text(block, "type") != "tool_result");
    let last_result = all.iter().rposition(|block| text(block, "type") == "tool_result");
    match (first_other, last_result) {
        (Some(other), Some(result)) if other < result => refuse(format!(
            "messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
             `tool_use` block must have a corresponding `tool_result` block in the next message.",
            asked.join(", ")
        )),
        _ => Ok(()),
    }
}

/// Checks that the answer with the calls starts with thinking, if thinking is on.
pub(super) fn thinking_precedes_calls(body: &Value, messages: &[Value]) -> MessagesCheckResult {
    if !is_thinking(body) {
        return Ok(());
    }
    let Some((number, last)) =
        messages.iter().enumerate().rev().find(|(_, message)| text(message, "role") == "assistant")
    else {
        return Ok(());
    };
    let calls = blocks(last).iter().any(|block| text(block, "type") == "tool_use");
    let in_loop = messages
        .get(number + 1)
        .is_some_and(|next| blocks(next).iter().any(|block| text(block, "type") == "tool_result"));
    let first = blocks(last).first().map(|block| text(block, "type")).unwrap_or_default();
    if calls && in_loop && first != "thinking" && first != "redacted_thinking" {
        return refuse(format!(
            "messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first}`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks)."
        ));
    }
    Ok(())
}
