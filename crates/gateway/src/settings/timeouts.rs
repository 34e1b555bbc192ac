//! Settings for timeouts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Seconds;

/// Timeouts, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutSettings {
    /// Timeout of tools without their own, in seconds.
    pub tool_s: Seconds,
    /// Maximum timeout of any tool, regardless of the tool's or caller's own, in seconds.
    pub max_tool_s: Seconds,
    /// Timeout for a person's approval, in seconds. It is not part of the tool's timeout.
    pub approval_s: Seconds,
    /// Time for a disconnected device to come back before its calls fail, in seconds.
    pub resume_grace_s: Seconds,
    /// Interval between pings of connections, in seconds. A connection closes after two missed answers.
    pub heartbeat_s: Seconds,
    /// Time after which a connection that accepts no data is closed, in seconds.
    pub write_s: Seconds,
    /// Timeout for shutting down, in seconds.
    pub shutdown_s: Seconds,
    /// Timeout for receiving a request head, a TLS handshake or a request body, in seconds. A body over 64 KiB
    /// may take longer, up to a minute, as long as a part of it arrives within this time.
    pub request_s: Seconds,
    /// Lifetime of a pairing code, in seconds.
    pub pairing_code_s: Seconds,
    /// Timeouts of single tools, in seconds: `"source/tool" = 120`.
    pub tools: BTreeMap<String, Seconds>,
}

impl Default for TimeoutSettings {
    fn default() -> Self {
        Self {
            tool_s: Seconds::new(30.0),
            max_tool_s: Seconds::new(3600.0),
            approval_s: Seconds::new(120.0),
            resume_grace_s: Seconds::new(20.0),
            heartbeat_s: Seconds::new(20.0),
            write_s: Seconds::new(10.0),
            shutdown_s: Seconds::new(10.0),
            request_s: Seconds::new(10.0),
            pairing_code_s: Seconds::new(600.0),
            tools: BTreeMap::new(),
        }
    }
}
