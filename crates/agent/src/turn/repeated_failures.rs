//! Detects that a model repeats the same call although it fails in the same way each time.

use std::collections::HashMap;

use toolway_models::ToolCall;
use toolway_types::ToolError;

/// Number of failures that trigger the notice.
const WARN_AFTER: u32 = 3;
/// Number of answers with the same failure after which the turn ends: the model ignores the notice.
pub(super) const MAX_FAILING_ANSWERS: u32 = 25;
/// Maximum number of remembered failures of one turn.
const MAX_FAILURES: usize = 1024;

/// Counts of the failed calls of a turn.
#[derive(Debug, Default)]
pub(crate) struct RepeatedFailures {
    counts: HashMap<FailedCall, FailureCount>,
    /// Number of the current answer, from 1.
    answer: u32,
}

/// Number of failures of one kind.
#[derive(Debug, Default)]
struct FailureCount {
    times: u32,
    answers: u32,
    last: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FailedCall {
    tool: String,
    arguments: String,
    code: &'static str,
    message: String,
}

impl RepeatedFailures {
    /// Begins the calls of the next answer.
    pub(super) fn next_answer(&mut self) {
        self.answer = self.answer.saturating_add(1);
    }

    /// Returns the tool whose same call failed in too many answers, if there is one.
    pub(super) fn tool_to_give_up(&self) -> Option<String> {
        self.counts
            .iter()
            .find(|(_, seen)| seen.answers >= MAX_FAILING_ANSWERS)
            .map(|(failure, _)| failure.tool.clone())
    }

    /// Counts a failure. Returns a notice for the model once, when the count reaches its limit.
    pub(crate) fn record_failure(&mut self, call: &ToolCall, error: &ToolError) -> Option<String> {
        let failure = FailedCall {
            tool: call.name.clone(),
            arguments: canonical(&call.arguments),
            code: error.code.as_str(),
            message: error.message.clone(),
        };
        if self.counts.len() >= MAX_FAILURES && !self.counts.contains_key(&failure) {
            return None;
        }
        let seen = self.counts.entry(failure).or_default();
        seen.times = seen.times.saturating_add(1);
        if seen.last != self.answer {
            seen.last = self.answer;
            seen.answers += 1;
        }
        (seen.times == WARN_AFTER).then(|| {
            format!(
                "This is the same call for the {WARN_AFTER}rd time, and it failed in the same way each time. Do not make \
                 it again like this: change the arguments, use another tool, or say that it cannot be done."
            )
        })
    }
}

/// Returns a canonical form of arguments: spaces and the order of fields do not matter.
fn canonical(arguments: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(arguments) {
        Ok(value) => value.to_string(),
        Err(_) => arguments.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use toolway_types::{CallId, Code};

    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: CallId::new(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            is_cut: false,
            opaque: None,
        }
    }

    #[test]
    fn the_third_of_the_same_is_told_and_no_other() {
        let mut repeats = RepeatedFailures::default();
        let failed = ToolError::new(Code::ToolFailed, "no paper");
        let mut told = |name: &str, arguments: &str, error: &ToolError| {
            repeats.record_failure(&call(name, arguments), error).is_some()
        };
        assert!(!told("print", r#"{"a":1,"b":2}"#, &failed));
        assert!(!told("print", r#"{ "b": 2, "a": 1 }"#, &failed));
        // Other failures in between neither reset nor increase the count.
        assert!(!told("print", r#"{"a":2,"b":2}"#, &failed));
        assert!(!told("scan", r#"{"a":1,"b":2}"#, &failed));
        assert!(!told("print", r#"{"a":1,"b":2}"#, &ToolError::new(Code::ToolFailed, "no ink")));
        assert!(!told("print", r#"{"a":1,"b":2}"#, &ToolError::new(Code::Timeout, "no paper")));
        assert!(told("print", r#"{"a":1,"b":2}"#, &failed), "the third");
        assert!(!told("print", r#"{"a":1,"b":2}"#, &failed), "it was said");
        for last in [false, false, true] {
            assert_eq!(told("print", "{ cut", &failed), last);
        }
    }
}
