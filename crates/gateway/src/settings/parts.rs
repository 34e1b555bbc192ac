//! Small settings tables: the local device, the log and the call records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::SECRET_NAMES;

/// This computer as a device of its own gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalDeviceSettings {
    /// Offers this computer's own tools.
    pub enabled: bool,
}

impl Default for LocalDeviceSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// Log level: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as
    /// `info,toolway_gateway=debug`.
    pub level: String,
    /// `text` or `json` (one object per line).
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Text }
    }
}

/// Time at which the record of a call must be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Written in batches; a crash of the gateway can lose the last 10 ms.
    #[default]
    Batch,
    /// Committed before the call runs, and again before the response.
    PerCall,
}

/// Call records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallSettings {
    /// `batch`: records are written within 10 ms. `per_call`: the record is committed before the call runs,
    /// and again before the response.
    pub durability: Durability,
    /// Days after which records are removed; 0 keeps them forever.
    pub retention_days: u32,
    /// Total size of records above which the oldest are removed, in bytes; 0 for no limit.
    pub retention_bytes: u64,
    /// Maximum stored size of a call's arguments, and of its result, in bytes.
    pub record_bytes: usize,
    /// Names in arguments and results whose values are stored as `[redacted]`, in call records and conversations.
    pub redact: Vec<String>,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            durability: Durability::Batch,
            retention_days: 30,
            retention_bytes: 1 << 30,
            record_bytes: 1 << 20,
            redact: SECRET_NAMES.map(String::from).to_vec(),
        }
    }
}
