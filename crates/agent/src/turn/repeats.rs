//! Notices that a model makes the same call again and again though it fails in the same way each time.

use std::collections::HashMap;

use toolway_models::ToolCall;
use toolway_types::ToolError;

/// How often is enough.
const ENOUGH: u32 = 3;
/// Failures that are remembered of one turn.
const REMEMBERED: usize = 1024;

/// The failed calls of a turn, counted.
#[derive(Debug, Default)]
pub(crate) struct Repeats(HashMap<Failure, u32>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Failure {
    tool: String,
    arguments: String,
    code: &'static str,
    message: String,
}

impl Repeats {
    /// Counts a failure. Answers what the model is to be told where this is the time to tell it, which comes once.
    pub(crate) fn note(&mut self, call: &ToolCall, error: &ToolError) -> Option<String> {
        let failure = Failure {
            tool: call.name.clone(),
            arguments: canonical(&call.arguments),
            code: error.code.as_str(),
            message: error.message.clone(),
        };
        if self.0.len() >= REMEMBERED && !self.0.contains_key(&failure) {
            return None;
        }
        let count = self.0.entry(failure).or_default();
        *count += 1;
        (*count == ENOUGH).then(|| {
            format!(
                "This is the same call for the {ENOUGH}rd time, and it failed in the same way each time. Do not make \
                 it again like this: change the arguments, use another tool, or say that it cannot be done."
            )
        })
    }
}

/// Arguments that mean the same have one form: spaces and the order of fields do not count.
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
        let mut repeats = Repeats::default();
        let failed = ToolError::new(Code::ToolFailed, "no paper");
        let mut told = |name: &str, arguments: &str, error: &ToolError| {
            repeats.note(&call(name, arguments), error).is_some()
        };
        assert!(!told("print", r#"{"a":1,"b":2}"#, &failed));
        assert!(!told("print", r#"{ "b": 2, "a": 1 }"#, &failed));
        // Something else in between does not start the count again, nor is it counted with it.
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
