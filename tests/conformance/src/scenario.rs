//! A scenario of the suite.

use rmcp::model::ProtocolVersion;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A scenario.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// Its name.
    pub(crate) name: String,
    /// URL of its server.
    pub(crate) url: String,
    /// Protocol version of the scenario.
    pub(crate) version: ProtocolVersion,
    /// Further data.
    pub(crate) context: ScenarioContext,
}

/// Data of some scenarios. Other fields are for extensions that the client does not have.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ScenarioContext {
    /// Id of a manually registered client.
    pub(crate) client_id: Option<String>,
    /// Secret of the client.
    pub(crate) client_secret: Option<String>,
    /// Authorization server of the client's registration.
    pub(crate) issuer: Option<String>,
    /// Private key of the client, in PEM.
    pub(crate) private_key_pem: Option<String>,
    /// Signed token of a workload.
    pub(crate) valid_jwt: Option<String>,
    /// Id of the client at the identity provider.
    pub(crate) idp_client_id: Option<String>,
    /// ID token of the person.
    pub(crate) idp_id_token: Option<String>,
    /// Issuer of the identity provider.
    pub(crate) idp_issuer: Option<String>,
    /// Calls to make instead of one of each tool.
    #[serde(rename = "toolCalls")]
    pub(crate) tool_calls: Vec<ScenarioToolCall>,
}

/// A call to make.
#[derive(Debug, Deserialize)]
pub(crate) struct ScenarioToolCall {
    /// Name of the tool.
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) arguments: Box<RawValue>,
}

impl Scenario {
    /// Reads the last argument and the suite's environment variables.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let url = std::env::args().nth(1).ok_or("the server's address is missing")?;
        let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
        let known = |known: &&ProtocolVersion| known.as_str() == version;
        let version = ProtocolVersion::KNOWN_VERSIONS.iter().find(known).cloned().unwrap_or_default();
        let context = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
            Ok(text) => serde_json::from_str(&text).map_err(|error| format!("the context: {error}"))?,
            Err(_) => ScenarioContext::default(),
        };
        let name = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
        Ok(Self { name, url, version, context })
    }
}
