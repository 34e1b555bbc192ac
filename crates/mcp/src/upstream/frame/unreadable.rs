//! Messages that can't be read, and whom they concern.

use serde_json::value::RawValue;
use toolway_types::foreign_json::broken_members;

use super::parse_id;

/// A message that can't be read.
#[derive(Debug)]
pub(in crate::upstream) struct UnreadableMessage {
    /// The id of our request that it seems to answer.
    pub(in crate::upstream) answered_request: Option<u64>,
    /// The id of the server's request that it seems to be.
    pub(in crate::upstream) own_request: Option<Box<RawValue>>,
    /// Description of the problem.
    pub(in crate::upstream) reason: String,
}

impl UnreadableMessage {
    /// Finds the ids in a message that can't be read, for example because it is cut, or has other text before it.
    pub(in crate::upstream) fn find(text: &str, reason: String) -> Self {
        // Other text may have braces too.
        let start = [r#"{"jsonrpc""#, r#"{"id""#, "{"].iter().find_map(|start| text.find(start)).unwrap_or(0);
        let text = text.get(start..).unwrap_or_default();
        let (mut id, mut has_method, mut is_answer) = (None, false, false);
        for member in broken_members(text.as_bytes()) {
            match member.name {
                b"id" => {
                    let quoted = || member.as_text().and_then(|text| serde_json::to_string(&text).ok());
                    id = quoted().or_else(|| member.as_word().map(std::borrow::Cow::into_owned));
                }
                b"method" => has_method = true,
                b"jsonrpc" | b"result" | b"error" => is_answer = true,
                _ => {}
            }
        }
        let id = id.filter(|id| id != "null");
        let (own, answered) = if has_method { (id, None) } else { (None, id.filter(|_| is_answer)) };
        Self {
            answered_request: answered.as_deref().and_then(parse_id),
            own_request: own.and_then(|id| RawValue::from_string(id).ok()),
            reason,
        }
    }
}
