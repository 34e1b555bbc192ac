//! Settings for TLS encryption and certificates.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// TLS mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TlsMode {
    /// On if other computers can connect.
    #[default]
    Auto,
    /// Always on.
    On,
    /// Always off, even if others can read the traffic.
    Off,
}

/// TLS encryption. In a file either `tls = "off"` or a table `[tls]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TlsSettings {
    /// `auto` (on if other computers can connect), `on` or `off`.
    pub mode: TlsMode,
    /// PEM file with your own certificate chain. The gateway reloads it after changes. Without it, the
    /// gateway creates its own certificate, and devices identify it by its key.
    pub cert: Option<PathBuf>,
    /// PEM file with the key of `cert`.
    pub key: Option<PathBuf>,
}

impl TlsSettings {
    /// Returns true if TLS is on for this listen address.
    #[must_use]
    pub fn is_on(&self, listen: super::ListenAddress) -> bool {
        match self.mode {
            TlsMode::On => true,
            TlsMode::Off => false,
            TlsMode::Auto => !listen.is_loopback(),
        }
    }
}

impl<'de> Deserialize<'de> for TlsSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[derive(Default)]
        struct TlsTable {
            mode: TlsMode,
            cert: Option<PathBuf>,
            key: Option<PathBuf>,
        }
        struct ModeOrTableVisitor;
        impl<'de> Visitor<'de> for ModeOrTableVisitor {
            type Value = TlsSettings;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\", \"on\", \"off\" or a table with mode, cert and key")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TlsSettings, E> {
                let mode = TlsMode::deserialize(serde::de::value::StrDeserializer::new(text))?;
                Ok(TlsSettings { mode, ..TlsSettings::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TlsSettings, A::Error> {
                let TlsTable { mode, cert, key } = TlsTable::deserialize(MapAccessDeserializer::new(map))?;
                Ok(TlsSettings { mode, cert, key })
            }
        }
        deserializer.deserialize_any(ModeOrTableVisitor)
    }
}
