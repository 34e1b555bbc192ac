//! `gateway.json`: where the running gateway listens, so that commands on the same computer find it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use toolway_wire::pairing::KeyPin;

use super::{DataFolder, private_file};
use crate::error::{CliError, CliResult};

/// What the running gateway says of itself. It is believed because only its owner can write the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunningGateway {
    /// Where it answers on this computer.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
    /// Its key, where it uses TLS with a key of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<KeyPin>,
    /// The file with its certificate, where it uses TLS with its owner's: the name in it need not be one of
    /// this computer, so its key is compared instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate: Option<PathBuf>,
}

impl RunningGateway {
    /// What lies in a folder.
    pub(crate) fn read(folder: &DataFolder) -> CliResult<Option<Self>> {
        let path = folder.running();
        let Some(text) = private_file::read(&path)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            CliError::new(format!("{} can't be understood: {error}", path.display()))
                .with_hint("start the gateway again; it writes this file anew")
        })
    }

    /// Puts it there.
    pub(crate) fn write(&self, folder: &DataFolder) -> CliResult {
        let text = serde_json::to_string(self).map_err(|error| CliError::new(error.to_string()))?;
        private_file::replace(&folder.running(), format!("{text}\n").as_bytes())
    }

    /// Takes it away. That it may be gone already is no matter.
    pub(crate) fn remove(folder: &DataFolder) {
        let _ = std::fs::remove_file(folder.running());
    }
}
