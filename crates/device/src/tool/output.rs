//! What a tool's function may give.

use serde::Serialize;
use serde_json::Value;
use toolway_types::{ContentPart, RawJson, ToolOutput};

/// Becomes a tool's result.
pub trait IntoOutput {
    /// The result.
    fn into_output(self) -> ToolOutput;
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> ToolOutput {
        self
    }
}

/// A structured result.
impl IntoOutput for Value {
    fn into_output(self) -> ToolOutput {
        ToolOutput::structured(RawJson::from(&self))
    }
}

/// A structured result as JSON text.
impl IntoOutput for RawJson {
    fn into_output(self) -> ToolOutput {
        ToolOutput::structured(self)
    }
}

impl IntoOutput for String {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

/// Nothing to say: empty text.
impl IntoOutput for () {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text("")
    }
}

impl IntoOutput for Vec<ContentPart> {
    fn into_output(self) -> ToolOutput {
        ToolOutput::new(self, None)
    }
}

/// Any serialisable value as a structured result.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> ToolOutput {
        ToolOutput::structured(RawJson::from_value(&self.0).unwrap_or_else(|error| {
            tracing::error!(%error, "a tool's result has no JSON form and is sent as null");
            RawJson::null()
        }))
    }
}
