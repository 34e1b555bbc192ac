//! A JSON-RPC error that a server answered a call with, on its way through the engine. To the engine the call has failed;
//! an MCP client is told what the server said, so that it can't tell that there is a gateway between the two.

use rmcp::ErrorData;
use serde::{Deserialize, Serialize};
use toolway_types::RawJson;

/// What stands for a call's answer where there is none. A server that writes the same has its own way to refuse.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EmbeddedRpcError {
    #[serde(rename = "toolway/refused")]
    error: ErrorData,
}

/// How it begins.
const PREFIX: &str = r#"{"toolway/refused":"#;

/// Stands for the call's answer ([`toolway_core::CallContext::keep_original`]).
pub(crate) fn encode(error: &ErrorData) -> Option<RawJson> {
    RawJson::parse(&serde_json::to_string(&EmbeddedRpcError { error: error.clone() }).ok()?).ok()
}

/// The error, where a call's answer is one.
pub(crate) fn decode(answer: &RawJson) -> Option<ErrorData> {
    let text = answer.get();
    text.starts_with(PREFIX)
        .then(|| serde_json::from_str::<EmbeddedRpcError>(text).ok().map(|refused| refused.error))?
}

#[cfg(test)]
mod tests;
