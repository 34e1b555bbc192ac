//! Writes the body of a request field by field, directly to bytes. Fields that the owner adds (`ModelOptions::extra`)
//! replace ours of the same name.

use std::sync::Arc;

use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use toolway_types::{JsonObject, Outcome, RawJson};

use crate::config::ProviderConfig;
use crate::error::{ModelError, ModelErrorKind};
use crate::message::{MessagePart, ModelMessage};

/// Writer of a body.
pub(crate) struct RequestBodyWriter<'a> {
    bytes: Vec<u8>,
    extra: &'a JsonObject,
    /// Fields of `extra` that are already written.
    written: Vec<&'static str>,
    failed: Option<serde_json::Error>,
}

impl<'a> RequestBodyWriter<'a> {
    /// Starts an empty object with a capacity of `size` bytes.
    pub(crate) fn new(extra: &'a JsonObject, size: usize) -> Self {
        let mut bytes = Vec::with_capacity(size);
        bytes.push(b'{');
        Self { bytes, extra, written: Vec::new(), failed: None }
    }

    /// Adds a field.
    pub(crate) fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        if !self.extra.contains_key(name) {
            self.write(name, value);
        }
    }

    /// Adds a field if it has a value.
    pub(crate) fn optional_field(&mut self, name: &str, value: Option<&(impl Serialize + ?Sized)>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    /// Writes a field with an object: these fields in their order, and the owner's additional fields. The owner's
    /// fields have priority.
    pub(crate) fn object(&mut self, name: &'static str, ours: &[(&'static str, RawJson)]) {
        let none = JsonObject::new();
        let theirs = match self.extra.get(name) {
            Some(Value::Object(theirs)) => theirs,
            Some(_) => return,
            None if ours.is_empty() => return,
            None => &none,
        };
        self.write(name, &MergedObject { base: ours, overrides: theirs });
        self.written.push(name);
    }

    /// Returns the body, with the owner's own fields at its end.
    ///
    /// # Errors
    /// [`ModelError`] if a value can't be serialized.
    pub(crate) fn finish(mut self, provider: &Arc<str>) -> Result<Bytes, ModelError> {
        for (name, value) in self.extra {
            if !self.written.contains(&name.as_str()) {
                self.write(name, value);
            }
        }
        self.bytes.push(b'}');
        match self.failed {
            None => Ok(self.bytes.into()),
            Some(error) => {
                let message = format!("the request can't be serialized: {error}");
                Err(ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(provider), message))
            }
        }
    }

    fn write(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        if self.bytes.len() > 1 {
            self.bytes.push(b',');
        }
        let written = serde_json::to_writer(&mut self.bytes, name).and_then(|()| {
            self.bytes.push(b':');
            serde_json::to_writer(&mut self.bytes, value)
        });
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

/// Returns the approximate size of a conversation in a body, in bytes.
pub(crate) fn conversation_size(messages: &[ModelMessage]) -> usize {
    const FRAME: usize = 64;
    let of = |part: &MessagePart| match part {
        MessagePart::Text { text, .. } | MessagePart::Thinking { text, .. } => text.len(),
        MessagePart::Image { data, .. } => data.len(),
        MessagePart::ToolCall(call) => call.arguments.len() + FRAME,
        MessagePart::ToolResult(result) => match &*result.outcome {
            Outcome::Success(output) => output.size(),
            Outcome::Error(error) => error.message.len(),
        },
    };
    messages.iter().flat_map(|message| &message.parts).map(|part| of(part) + FRAME).sum()
}

/// Our fields and the owner's as one object.
struct MergedObject<'a> {
    base: &'a [(&'static str, RawJson)],
    overrides: &'a JsonObject,
}

impl Serialize for MergedObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.base.iter().filter(|(name, _)| !self.overrides.contains_key(*name)) {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in self.overrides {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Refuses a request with more tools than its API accepts (pitfall M6). The caller chooses the tools, so none is
/// dropped here.
pub(crate) fn check_tool_count(provider: &Arc<str>, count: usize, most: usize) -> Result<(), ModelError> {
    if count <= most {
        return Ok(());
    }
    let message = format!("the request has {count} tools; this API accepts at most {most}");
    let error = ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(provider), message);
    Err(error
        .with_hint("Set a lower max_tools for the agent or the model, or select fewer tools for the agent."))
}

/// Converts a body to JSON.
pub(crate) fn body_json(config: &ProviderConfig, body: &[u8]) -> Result<RawJson, ModelError> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the request can't be serialized: {error}");
        ModelError::new(ModelErrorKind::InvalidRequest, Arc::clone(&config.name), message)
    })
}

#[cfg(test)]
mod tests;
