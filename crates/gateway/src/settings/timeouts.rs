//! How long things may take.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Seconds;

/// How long things may take, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeoutSettings {
    /// How long a tool may run that says nothing of it, in seconds.
    pub tool_s: Seconds,
    /// How long any tool may run, whatever it or its caller says, in seconds.
    pub max_tool_s: Seconds,
    /// How long a call may wait for a person, in seconds. It does not count as running.
    pub approval_s: Seconds,
    /// How long a device that lost its connection may take to come back before its calls end, in seconds.
    pub resume_grace_s: Seconds,
    /// How often connections are asked whether they live, in seconds. Two missed answers close one.
    pub heartbeat_s: Seconds,
    /// How long a connection may take nothing of what it is sent until it is closed, in seconds.
    pub write_s: Seconds,
    /// How long shutting down may take, in seconds.
    pub shutdown_s: Seconds,
    /// How long a client may take to send a request, or to agree on encryption, in seconds.
    pub request_s: Seconds,
    /// How long a pairing code is good for, in seconds.
    pub pairing_code_s: Seconds,
    /// How long single tools may run, in seconds: `"source/tool" = 120`.
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
