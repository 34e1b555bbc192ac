//! The settings that the app passes when it starts a bridge: a bundle, so that missing values keep their
//! defaults.

#[cfg(test)]
mod tests;

use std::time::Duration;

use secrecy::SecretString;
use toolway_android::{BridgeOptions, Bundle, BundleValue, ProviderNames};
use toolway_device::{GatewayTrust, KeyPin};

/// Settings of a bridge.
#[derive(Debug)]
pub struct BridgeSettings {
    /// URL of the gateway.
    pub url: String,
    /// Token from pairing.
    pub token: SecretString,
    /// Way in which the gateway's identity is verified.
    pub trust: GatewayTrust,
    /// True to allow plain HTTP to another computer.
    pub insecure: bool,
    /// Display name of the device.
    pub name: String,
    /// Id that is stable across restarts.
    pub device_id: Option<String>,
    /// Operating system and version.
    pub platform: Option<String>,
    /// Version of the app.
    pub app_version: Option<String>,
    /// Names that were given to apps before.
    pub names: ProviderNames,
    /// Options of the bridge.
    pub options: BridgeOptions,
}

/// Reason why the app's settings are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadBridgeSettings {
    /// A required value is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A value has the wrong type.
    #[error("{key} is {found}, and should be {wanted}")]
    Type {
        /// Key of the value.
        key: &'static str,
        /// Type of the value.
        found: String,
        /// Expected type.
        wanted: &'static str,
    },
    /// The pin of the key is invalid.
    #[error("the gateway's key can't be read: {0}")]
    Key(String),
    /// The names are invalid.
    #[error("the names that were kept can't be read: {0}")]
    Names(String),
}

impl BridgeSettings {
    /// Reads the settings from the app's bundle.
    ///
    /// # Errors
    /// [`BadBridgeSettings`] if a value is missing or invalid.
    pub fn from_bundle(said: &Bundle) -> Result<Self, BadBridgeSettings> {
        let key = text(said, "key")?
            .map(|key| key.parse::<KeyPin>().map_err(|error| BadBridgeSettings::Key(error.to_string())))
            .transpose()?;
        let names = text(said, "names")?
            .map(|names| {
                serde_json::from_str(&names).map_err(|error| BadBridgeSettings::Names(error.to_string()))
            })
            .transpose()?;
        let defaults = BridgeOptions::default();
        let options = BridgeOptions {
            list_timeout: duration(said, "list_timeout_ms")?.unwrap_or(defaults.list_timeout),
            call_timeout: duration(said, "call_timeout_ms")?.unwrap_or(defaults.call_timeout),
            consent_timeout: duration(said, "consent_timeout_ms")?.unwrap_or(defaults.consent_timeout),
            settle: duration(said, "settle_ms")?.unwrap_or(defaults.settle),
            launch_apps: flag(said, "launch_apps")?.unwrap_or(defaults.launch_apps),
        };
        Ok(Self {
            url: text(said, "url")?.ok_or(BadBridgeSettings::Missing("url"))?,
            token: text(said, "token")?.ok_or(BadBridgeSettings::Missing("token"))?.into(),
            trust: GatewayTrust::from_settings(key, &[]),
            insecure: flag(said, "insecure")?.unwrap_or(false),
            name: text(said, "name")?.ok_or(BadBridgeSettings::Missing("name"))?,
            device_id: text(said, "device_id")?,
            platform: text(said, "platform")?,
            app_version: text(said, "app_version")?,
            names: names.unwrap_or_default(),
            options,
        })
    }
}

fn text(said: &Bundle, key: &'static str) -> Result<Option<String>, BadBridgeSettings> {
    match said.get(key) {
        None => Ok(None),
        Some(BundleValue::Text(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(key, other, "a string")),
    }
}

fn flag(said: &Bundle, key: &'static str) -> Result<Option<bool>, BadBridgeSettings> {
    match said.get(key) {
        None => Ok(None),
        Some(BundleValue::Boolean(flag)) => Ok(Some(*flag)),
        Some(other) => Err(wrong(key, other, "a boolean")),
    }
}

fn duration(said: &Bundle, key: &'static str) -> Result<Option<Duration>, BadBridgeSettings> {
    match said.get(key) {
        None => Ok(None),
        Some(other @ BundleValue::Long(millis)) => match u64::try_from(*millis) {
            Ok(millis) => Ok(Some(Duration::from_millis(millis))),
            Err(_) => Err(wrong(key, other, "a long of 0 or more")),
        },
        Some(other) => Err(wrong(key, other, "a long")),
    }
}

fn wrong(key: &'static str, found: &BundleValue, wanted: &'static str) -> BadBridgeSettings {
    BadBridgeSettings::Type { key, found: found.type_name().to_owned(), wanted }
}
