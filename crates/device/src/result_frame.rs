//! Result frames: outcomes of tools, encoded for the gateway.

use tokio_tungstenite::tungstenite::Utf8Bytes;
use toolway_types::{Code, ContentPart, ToolError, ToolOutput};
use toolway_wire::ClientMessage;
use toolway_wire::client_message::{ToolFailure, ToolResult};

/// Answer to a call of an unknown tool; version 1 clients expect exactly this text.
pub(crate) const NO_HANDLER: &str = "No handler registered";

/// Format of result frames for one gateway.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameFormat {
    pub(crate) version: u32,
    /// Maximum frame size, in bytes.
    pub(crate) frame_limit: usize,
}

/// Encodes an outcome. A result larger than the limit becomes an error, because the gateway would close the
/// connection on an oversized frame.
pub(crate) fn result_frame(id: &str, outcome: Result<ToolOutput, ToolError>, form: FrameFormat) -> Utf8Bytes {
    let frame = match outcome {
        Ok(output) => result(id, output, form.version),
        Err(error) => failure(id, error),
    };
    if frame.len() <= form.frame_limit {
        return frame.into();
    }
    let message =
        format!("the result has {} bytes, but the gateway accepts at most {}", frame.len(), form.frame_limit);
    failure(id, ToolError::new(Code::ToolFailed, message)).into()
}

fn result(id: &str, output: ToolOutput, version: u32) -> String {
    let mut text = output.joined_text();
    if version < 2 && text.is_empty() {
        // Version 1 supports only text.
        text = output.structured.as_ref().map(|value| value.get().to_owned()).unwrap_or_default();
    }
    let v2 = version >= 2;
    let others =
        |parts: Vec<ContentPart>| parts.into_iter().filter(|part| part.as_text().is_none()).collect();
    ClientMessage::from(ToolResult {
        id: id.to_owned(),
        output: text.into(),
        success: Some(true),
        error: None,
        structured: output.structured.filter(|_| v2),
        content: if v2 { others(output.content) } else { Vec::new() },
    })
    .encode()
}

fn failure(id: &str, error: ToolError) -> String {
    let code = if Code::FROM_DEVICES.contains(&error.code) { error.code } else { Code::ToolFailed };
    ClientMessage::from(ToolFailure {
        id: id.to_owned(),
        error: error.message,
        success: Some(false),
        error_type: Some(code.kind().as_str().to_owned()),
        code: Some(code.as_str().to_owned()),
        hint: error.hint,
        authorize_intent: error.authorize_intent,
        retryable: (error.retryable != code.retryable()).then_some(error.retryable),
    })
    .encode()
}

#[cfg(test)]
mod tests;
