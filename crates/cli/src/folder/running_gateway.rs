//! `gateway.json`: address of the running gateway, for commands on the same computer.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolway_wire::pairing::KeyPin;

use super::{DataFolder, private_file};
use crate::error::{CliError, CliResult};

/// State of the running gateway. It is trusted because only the owner can write the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunningGateway {
    /// Local address of the gateway.
    pub(crate) url: String,
    /// Process id.
    pub(crate) pid: u32,
    /// Key of a self-signed gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<KeyPin>,
    /// Certificate file of a gateway with the owner's certificate. The certificate may not include a name of this
    /// computer, so clients verify its key instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<PathBuf>,
}

impl RunningGateway {
    /// Reads the state from a folder.
    pub(crate) fn read(folder: &DataFolder) -> CliResult<Option<Self>> {
        let path = folder.running();
        let Some(text) = private_file::read(&path)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            CliError::new(format!("{} is invalid: {error}", path.display()))
                .with_hint("restart the gateway; it rewrites this file")
        })
    }

    /// Writes the state.
    pub(crate) fn write(&self, folder: &DataFolder) -> CliResult {
        let text = serde_json::to_string(self).map_err(|error| CliError::new(error.to_string()))?;
        private_file::replace(&folder.running(), format!("{text}\n").as_bytes())
    }

    /// Removes the state, if it exists.
    pub(crate) fn remove(folder: &DataFolder) {
        let _ = std::fs::remove_file(folder.running());
    }
}
