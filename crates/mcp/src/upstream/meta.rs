//! The `_meta` of requests: the progress token, in the newer era the client and its capabilities, and the `_meta` of
//! the gateway's client.

use std::fmt::Write as _;

use rmcp::model::{ClientCapabilities, Implementation, LoggingLevel};
use serde_json::{Map, Value};

use crate::protocol_era::ProtocolEra;

/// The prefix of MCP's own keys, which apply only between two neighbours.
const RESERVED_PREFIX: &str = "io.modelcontextprotocol/";
/// The key of the progress token, which applies only between two neighbours.
pub(super) const PROGRESS_TOKEN: &str = "progressToken";

/// Writes `_meta`.
#[derive(Debug)]
pub(super) struct MetaWriter {
    /// Version and name of this client, as JSON members.
    client_members: String,
    client_info: Implementation,
}

impl MetaWriter {
    pub(super) fn new(name: &str, version: &str) -> Self {
        let info = Implementation::new(name, version);
        let written = serde_json::to_string(&info).unwrap_or_default();
        let who = format!(
            r#""{RESERVED_PREFIX}protocolVersion":"2026-07-28","{RESERVED_PREFIX}clientInfo":{written}"#
        );
        Self { client_members: who, client_info: info }
    }

    /// Name and version of this client.
    pub(super) fn client_info(&self) -> &Implementation {
        &self.client_info
    }

    /// Writes the member `_meta`.
    pub(super) fn write(
        &self,
        to: &mut String,
        progress: Option<u64>,
        era: Option<ProtocolEra>,
        client: Option<(&Map<String, Value>, &ClientCapabilities)>,
        level: Option<LoggingLevel>,
    ) {
        to.push_str(r#""_meta":{"#);
        let start = to.len();
        if let Some(id) = progress {
            let _ = write!(to, r#""{PROGRESS_TOKEN}":{id},"#);
        }
        if era == Some(ProtocolEra::Stateless) {
            to.push_str(&self.client_members);
            let _ = write!(to, r#","{RESERVED_PREFIX}clientCapabilities":"#);
            match client {
                Some((_, can)) => {
                    to.push_str(&serde_json::to_string(can).unwrap_or_else(|_| "{}".to_owned()))
                }
                None => to.push_str("{}"),
            }
            to.push(',');
            if let Some(level) = level.and_then(|level| serde_json::to_string(&level).ok()) {
                let _ = write!(to, r#""{RESERVED_PREFIX}logLevel":{level},"#);
            }
        }
        for (key, value) in client.iter().flat_map(|(meta, _)| meta.iter()) {
            if key != PROGRESS_TOKEN && !key.starts_with(RESERVED_PREFIX) {
                let key = serde_json::to_string(key).unwrap_or_default();
                let _ = write!(to, "{key}:{value},");
            }
        }
        if to.len() > start {
            to.pop();
        }
        to.push('}');
    }
}

#[cfg(test)]
mod tests;
