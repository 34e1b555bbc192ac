//! The limits that the gateway tells in `connected.limits`, with their defaults. Each is a setting.

use serde::{Deserialize, Serialize};

/// What one connection may send or hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ConnectionLimits {
    /// Largest frame, in bytes.
    pub frame_bytes: usize,
    /// Most tools of a connection.
    pub tools_per_connection: usize,
    /// Most bytes of specs of a connection.
    pub spec_bytes_per_connection: usize,
    /// Most calls in flight on a device.
    pub calls_in_flight_per_device: usize,
    /// Deepest nesting of JSON.
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
