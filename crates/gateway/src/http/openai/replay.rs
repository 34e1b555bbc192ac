//! Parsing of recorded chat completion requests, without a gateway: for tests and fuzzing.

use toolway_models::{ModelMessage, ModelOptions, OutputSchema, ToolChoice, ToolDefinition};

use super::request::{self, ParsedCompletionRequest};

/// The parts of a request that go to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedCompletionRequest {
    /// System messages.
    pub system: Vec<String>,
    /// The other messages, in order.
    pub messages: Vec<ModelMessage>,
    /// The caller's own tools.
    pub tools: Vec<ToolDefinition>,
    /// Tool use.
    pub tool_choice: ToolChoice,
    /// Schema of the answer.
    pub output: Option<OutputSchema>,
    /// Options.
    pub options: ModelOptions,
}

/// Parses the body of a request.
///
/// # Errors
/// Status and body of the response that refuses it.
pub fn replay(body: &[u8]) -> Result<ReplayedCompletionRequest, (u16, String)> {
    let parsed = request::read(body).map_err(|refused| {
        let body = serde_json::to_string(&refused.to_response()).unwrap_or_default();
        (refused.status.as_u16(), body)
    })?;
    let ParsedCompletionRequest { system, messages, client_tools, tool_choice, output, options, .. } = parsed;
    Ok(ReplayedCompletionRequest { system, messages, tools: client_tools, tool_choice, output, options })
}
