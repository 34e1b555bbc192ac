//! What the suite says of a scenario.

use rmcp::model::ProtocolVersion;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// Where its server is.
    pub(crate) url: String,
    /// The version that it is about.
    pub(crate) version: ProtocolVersion,
    /// What else it says.
    pub(crate) context: ScenarioContext,
}

/// What some scenarios say; the rest of it is for extensions that the client does not have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScenarioContext {
    /// A client that was registered by hand.
    pub(crate) client_id: Option<String>,
    /// Its secret.
    pub(crate) client_secret: Option<String>,
    /// The authorization server that it was registered with.
    pub(crate) issuer: Option<String>,
    /// Calls to make, instead of one of each tool.
    #[serde(rename = "toolCalls")]
    pub(crate) tool_calls: Vec<ScenarioToolCall>,
}

/// A call to make.
#[derive(Debug, Deserialize)]
pub(crate) struct ScenarioToolCall {
    /// The tool.
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) arguments: Box<RawValue>,
}

impl Scenario {
    /// Reads the last argument and the suite's variables.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let url = std::env::args().nth(1).ok_or("the server's address is missing")?;
        let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
        let known = |known: &&ProtocolVersion| known.as_str() == version;
        let version = ProtocolVersion::KNOWN_VERSIONS.iter().find(known).cloned().unwrap_or_default();
        let context = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
            Ok(text) => serde_json::from_str(&text).map_err(|error| format!("the context: {error}"))?,
            Err(_) => ScenarioContext::default(),
        };
        Ok(Self { url, version, context })
    }
}
