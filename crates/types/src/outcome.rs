//! The end of a call: exactly one [`Outcome`].

use crate::content::ContentPart;
use crate::error::ToolError;
use crate::json::RawJson;
use crate::original_error::OriginalError;

/// The output of a tool: content parts, and an optional structured value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// Text, images and so on, in order.
    pub content: Vec<ContentPart>,
    /// Structured value, exactly as the tool wrote it.
    pub structured: Option<RawJson>,
    /// The whole result as the tool's own protocol wrote it, for a caller that speaks the same protocol. It
    /// means the same as the other fields. Code that changes them must drop it
    /// ([`ToolOutput::without_original`]). Most tools set none. It is neither stored nor counted in
    /// [`ToolOutput::size`].
    pub original: Option<RawJson>,
}

impl ToolOutput {
    /// Creates an output of these parts and this structured value.
    #[must_use]
    pub fn new(content: Vec<ContentPart>, structured: Option<RawJson>) -> Self {
        Self { content, structured, original: None }
    }

    /// Creates an output of text only.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)], None)
    }

    /// Creates an output of a structured value only.
    #[must_use]
    pub fn structured(value: RawJson) -> Self {
        Self::new(Vec::new(), Some(value))
    }

    /// Returns the same output without [`ToolOutput::original`].
    #[must_use]
    pub fn without_original(self) -> Self {
        Self { original: None, ..self }
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

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The tool ran and returned an output.
    Success(ToolOutput),
    /// The tool failed, or did not run.
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

    /// The result as the tool's own protocol wrote it, if the tool set it. A failed call has one if that protocol
    /// reports failures as results.
    #[must_use]
    pub fn original_result(&self) -> Option<&RawJson> {
        match self {
            Self::Success(output) => output.original.as_ref(),
            Self::Error(error) => match error.original.as_deref() {
                Some(OriginalError::Result(result)) => Some(result),
                Some(OriginalError::JsonRpc(_)) | None => None,
            },
        }
    }

    /// Returns true for a success.
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
