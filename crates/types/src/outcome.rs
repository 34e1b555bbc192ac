//! The end of a call: exactly one [`Outcome`].

use crate::content::ContentPart;
use crate::error::ToolError;
use crate::json::RawJson;

/// Output of a tool: content parts, and optionally a structured value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// Text, images and so on, in order.
    pub content: Vec<ContentPart>,
    /// Structured value, exactly as the tool wrote it.
    pub structured: Option<RawJson>,
}

impl ToolOutput {
    /// Creates an output with one text part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentPart::text(text)], structured: None }
    }

    /// Creates an output with only a structured value.
    #[must_use]
    pub fn structured(value: RawJson) -> Self {
        Self { content: Vec::new(), structured: Some(value) }
    }

    /// All text parts, joined by line feeds.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let mut texts = self.content.iter().filter_map(ContentPart::as_text);
        let mut joined = texts.next().unwrap_or_default().to_owned();
        for text in texts {
            joined.push('\n');
            joined.push_str(text);
        }
        joined
    }

    /// Approximate size in bytes, for the output limit.
    #[must_use]
    pub fn size(&self) -> usize {
        self.content.iter().map(ContentPart::size).sum::<usize>()
            + self.structured.as_ref().map_or(0, |value| value.get().len())
    }
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The tool returned an output.
    Success(ToolOutput),
    /// The call failed.
    Error(ToolError),
}

impl Outcome {
    /// The error, if the call failed.
    #[must_use]
    pub fn error(&self) -> Option<&ToolError> {
        match self {
            Self::Success(_) => None,
            Self::Error(error) => Some(error),
        }
    }

    /// True if the call succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success(_))
    }
}

impl From<Result<ToolOutput, ToolError>> for Outcome {
    fn from(result: Result<ToolOutput, ToolError>) -> Self {
        match result {
            Ok(output) => Self::Success(output),
            Err(error) => Self::Error(error),
        }
    }
}
