//! The smaller tables: the local device, the log, the record of calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolway_core::SECRET_NAMES;

/// This computer as a device of its own gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LocalDeviceSettings {
    /// Whether this computer's own tools are offered.
    pub enabled: bool,
}

impl Default for LocalDeviceSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or a filter like
    /// `info,toolway_gateway=debug`.
    pub level: String,
    /// `text` or `json` (one object a line).
    pub format: LogFormat,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: LogFormat::Text }
    }
}

/// When the record of a call counts as kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Written in batches; a crash of the gateway can lose the last 10 ms.
    #[default]
    Batch,
    /// Committed before the call runs, and again before it is answered.
    PerCall,
}

/// The record of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallSettings {
    /// `batch`: records are written within 10 ms. `per_call`: a call runs and is answered only once its record is
    /// committed.
    pub durability: Durability,
    /// Days after which records are removed; 0 keeps them for ever.
    pub retention_days: u32,
    /// Bytes of records above which the oldest are removed; 0 for no bound.
    pub retention_bytes: u64,
    /// Most bytes that are kept of one call's arguments, and of its result.
    pub record_bytes: usize,
    /// Names of arguments whose values are stored as `[redacted]`.
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
