//! Limits sent in `connected.limits`, with their defaults. Each is a setting.

use serde::{Deserialize, Serialize};

/// Limits of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ConnectionLimits {
    /// Maximum size of a frame, in bytes.
    pub frame_bytes: usize,
    /// Maximum number of tools of a connection.
    pub tools_per_connection: usize,
    /// Maximum total size of a connection's specs, in bytes.
    pub spec_bytes_per_connection: usize,
    /// Maximum number of calls in flight on a device.
    pub calls_in_flight_per_device: usize,
    /// Maximum nesting depth of JSON.
    pub json_depth: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            frame_bytes: 16 << 20,
            tools_per_connection: 4096,
            spec_bytes_per_connection: 8 << 20,
            calls_in_flight_per_device: 256,
            json_depth: crate::MAX_DEPTH,
        }
    }
}
