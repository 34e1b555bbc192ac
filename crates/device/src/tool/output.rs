//! Return types of tool functions.

use serde::Serialize;
use serde_json::Value;
use toolway_types::{ContentPart, RawJson, ToolOutput};

/// Conversion into a tool's output.
pub trait IntoOutput {
    /// Converts the value.
    fn into_output(self) -> ToolOutput;
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> ToolOutput {
        self
    }
}

/// Structured result.
impl IntoOutput for Value {
    fn into_output(self) -> ToolOutput {
        ToolOutput::structured(RawJson::from(&self))
    }
}

/// Structured result as JSON text.
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

/// Empty text.
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

/// Any serializable value as a structured result.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> ToolOutput {
        ToolOutput::structured(RawJson::from_value(&self.0).unwrap_or_else(|error| {
            tracing::error!(%error, "a tool's result cannot be converted to JSON; sending null");
            RawJson::null()
        }))
    }
}
