//! The result envelope: the form of an outcome in REST, WebSocket, MCP text and model messages (docs/protocol.md,
//! "Outcomes").
//!
//! Success: `{"status":"success","result":R,"content"?:[…]}`. `result` is the structured value, or the text
//! if the tool returned no structured value. `content` contains the parts that are not text.
//!
//! Error:
//! `{"status":"error","error_type","message","code","hint"?,"authorize_intent"?,"dispatched","retryable"}`.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::content::ContentPart;
use crate::json::push_string;
use crate::outcome::{Outcome, ToolOutput};

/// Serializes a borrowed outcome as the envelope. Use `#[serde(flatten)]` to put it into a larger message.
#[derive(Debug, Clone, Copy)]
pub struct ResultEnvelope<'a>(pub &'a Outcome);

/// Value of the field `result`.
#[derive(Serialize)]
#[serde(untagged)]
enum ResultField<'a> {
    Structured(&'a crate::json::RawJson),
    OneText(&'a str),
    Joined(String),
}

fn result_field(output: &ToolOutput) -> ResultField<'_> {
    if let Some(value) = &output.structured {
        return ResultField::Structured(value);
    }
    match output.content.as_slice() {
        [ContentPart::Text { text }] => ResultField::OneText(text),
        _ => ResultField::Joined(output.joined_text()),
    }
}

impl Serialize for ResultEnvelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Outcome::Success(output) => {
                map.serialize_entry("status", "success")?;
                map.serialize_entry("result", &result_field(output))?;
                let others: Vec<_> = output.content.iter().filter(|part| part.as_text().is_none()).collect();
                if !others.is_empty() {
                    map.serialize_entry("content", &others)?;
                }
            }
            Outcome::Error(error) => {
                map.serialize_entry("status", "error")?;
                map.serialize_entry("error_type", error.kind().as_str())?;
                map.serialize_entry("message", &error.message)?;
                map.serialize_entry("code", error.code.as_str())?;
                if let Some(hint) = &error.hint {
                    map.serialize_entry("hint", hint)?;
                }
                if let Some(intent) = &error.authorize_intent {
                    map.serialize_entry("authorize_intent", intent)?;
                }
                map.serialize_entry("dispatched", &error.dispatched)?;
                map.serialize_entry("retryable", &error.retryable)?;
            }
        }
        map.end()
    }
}

impl ResultEnvelope<'_> {
    /// Appends the envelope's members to a JSON object: `"status":…` and so on, without braces. Faster than serde for an
    /// ordinary result.
    pub fn push_members(&self, out: &mut String) {
        if let Outcome::Success(output) = self.0
            && output.content.iter().all(|part| part.as_text().is_some())
        {
            out.push_str(r#""status":"success","result":"#);
            return match result_field(output) {
                ResultField::Structured(value) => out.push_str(value.get()),
                ResultField::OneText(text) => push_string(out, text),
                ResultField::Joined(text) => push_string(out, &text),
            };
        }
        // Every member is text, JSON or a flag, so this cannot fail.
        let object = serde_json::to_string(self).unwrap_or_default();
        let members = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        out.push_str(members.unwrap_or(r#""status":"error""#));
    }
}

#[cfg(test)]
mod tests;
