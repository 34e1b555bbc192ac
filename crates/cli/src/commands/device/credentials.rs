//! Stores the credentials of paired gateways: one file (0600) per gateway in `devices/` of the data folder.

use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use toolway_device::{GatewayUrl, KeyPin};

use crate::error::{CliError, CliResult};
use crate::folder::{DataFolder, create_private_dir, private_file};

/// Credentials for one gateway.
#[derive(Clone)]
pub(super) struct DeviceCredentials {
    /// Address of the gateway.
    pub(super) gateway: String,
    /// Device token.
    pub(super) token: SecretString,
    /// Key of the gateway, if it is self-signed.
    pub(super) key: Option<KeyPin>,
    /// Device id that stays the same across restarts.
    pub(super) device_id: String,
    /// Device name for people.
    pub(super) name: String,
    /// File with additional certificate authorities.
    pub(super) ca: Option<PathBuf>,
    /// True if pairing allowed plain HTTP to another computer.
    pub(super) insecure: bool,
}

impl fmt::Debug for DeviceCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceCredentials")
            .field("gateway", &self.gateway)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// JSON format of the file.
#[derive(Serialize, Deserialize)]
struct CredentialsFile {
    gateway: String,
    token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<KeyPin>,
    device_id: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ca: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    insecure: bool,
}

impl DeviceCredentials {
    /// Writes the file and returns its path. A device with its own name gets its own file.
    pub(super) fn save(&self, folder: &DataFolder, name: Option<&str>) -> CliResult<PathBuf> {
        folder.create()?;
        create_private_dir(&folder.devices())?;
        let path = folder.devices().join(file_name(&self.gateway, name));
        let file = CredentialsFile {
            gateway: self.gateway.clone(),
            token: self.token.expose_secret().to_owned(),
            key: self.key,
            device_id: self.device_id.clone(),
            name: self.name.clone(),
            ca: self.ca.clone(),
            insecure: self.insecure,
        };
        let text = serde_json::to_string_pretty(&file).map_err(|error| CliError::new(error.to_string()))?;
        private_file::replace(&path, format!("{text}\n").as_bytes())?;
        Ok(path)
    }
}

/// Returns the file name, for example `gateway.example-7717.json`, with the device name if it has one.
fn file_name(gateway: &str, name: Option<&str>) -> String {
    let plain = |text: &str| -> String {
        let kept = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
        text.chars().map(kept).collect::<String>().trim_matches(['-', '.']).to_owned()
    };
    let at = match gateway.parse::<GatewayUrl>() {
        Ok(url) => plain(&format!("{}-{}", url.host(), url.port())),
        Err(_) => plain(gateway),
    };
    // A host without letters or digits is invalid, but its file must not be hidden.
    let at = if at.is_empty() { "gateway".to_owned() } else { at };
    match name.map(plain).filter(|name| !name.is_empty()) {
        Some(name) => format!("{at}-{name}.json"),
        None => format!("{at}.json"),
    }
}

/// All stored credentials.
#[derive(Debug)]
pub(super) struct SavedCredentials(Vec<(PathBuf, DeviceCredentials)>);

impl SavedCredentials {
    /// Reads the folder. An invalid file is an error, because ignoring it would lose the access to a gateway.
    pub(super) fn read(folder: &DataFolder) -> CliResult<Self> {
        let path = folder.devices();
        let mut found = Vec::new();
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self(found)),
            Err(error) => return Err(CliError::io("read", &path, &error)),
        };
        for entry in entries {
            let file = entry.map_err(|error| CliError::io("read", &path, &error))?.path();
            if file.extension().is_some_and(|extension| extension == "json") {
                let credentials = read(&file)?;
                found.push((file, credentials));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Self(found))
    }

    /// Returns the credentials with exactly this gateway and name.
    pub(super) fn find_exact(&self, gateway: &str, name: Option<&str>) -> Option<&DeviceCredentials> {
        let wanted = file_name(gateway, name);
        self.0
            .iter()
            .find(|(path, _)| path.file_name().is_some_and(|it| it == wanted.as_str()))
            .map(|(_, it)| it)
    }

    /// Returns the only credentials that match.
    pub(super) fn find(&self, gateway: Option<&str>, name: Option<&str>) -> CliResult<&DeviceCredentials> {
        if let Some(exactly) = gateway.and_then(|gateway| self.find_exact(gateway, name)) {
            return Ok(exactly);
        }
        let wanted = gateway.map(|url| {
            url.parse::<GatewayUrl>().map_err(|error| CliError::usage(format!("--gateway: {error}")))
        });
        let wanted = wanted.transpose()?;
        let fits = |it: &DeviceCredentials| {
            let url = || it.gateway.parse::<GatewayUrl>();
            wanted.as_ref().is_none_or(|wanted| url().is_ok_and(|url| url == *wanted))
        };
        let mut fitting: Vec<&DeviceCredentials> =
            self.0.iter().map(|(_, it)| it).filter(|it| fits(it)).collect();
        // A name selects among several; with only one match, it may be a new name.
        if let (Some(name), true) = (name, fitting.len() > 1) {
            fitting.retain(|it| it.name == name);
        }
        match fitting.as_slice() {
            [one] => Ok(one),
            [] => Err(not_paired_error(gateway)),
            several => {
                let names: Vec<String> =
                    several.iter().map(|it| format!("{} as {}", it.gateway, it.name)).collect();
                Err(CliError::usage("this computer has several pairings; select one").with_hint(format!(
                    "use --gateway URL, and --name NAME if needed; stored pairings: {}",
                    names.join(", ")
                )))
            }
        }
    }
}

fn not_paired_error(gateway: Option<&str>) -> CliError {
    let with = gateway.map_or_else(|| "any gateway".to_owned(), str::to_owned);
    let url = gateway.unwrap_or("https://GATEWAY:7717");
    CliError::new(format!("this computer is not paired with {with}"))
        .with_code("not_paired")
        .with_hint("run `toolway pair` on the gateway to get a code")
        .with_hint(format!("then run here: toolway device --gateway {url} --pair CODE"))
}

fn read(path: &Path) -> CliResult<DeviceCredentials> {
    let text = private_file::read(path)?.unwrap_or_default();
    // Do not show the parser's message: it may quote the token.
    let file: CredentialsFile = serde_json::from_str(&text).map_err(|error| {
        CliError::new(format!("{} is invalid (line {})", path.display(), error.line()))
            .with_hint("correct the file, or remove it and pair again")
    })?;
    let CredentialsFile { gateway, token, key, device_id, name, ca, insecure } = file;
    Ok(DeviceCredentials { gateway, token: token.into(), key, device_id, name, ca, insecure })
}

#[cfg(test)]
mod tests;
