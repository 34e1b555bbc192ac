//! Connection status of a device, for display.

use std::sync::Arc;
use std::time::Duration;

use toolway_wire::gateway_message::Rejected;

use crate::error::DeviceError;

/// Status of the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionStatus {
    /// Connecting to the gateway.
    Connecting,
    /// Connected to the gateway.
    Connected(GatewayConnection),
    /// The connection was lost or failed; the device retries automatically.
    Reconnecting {
        /// Reason for the loss, for display.
        why: String,
        /// Delay until the next attempt.
        delay: Duration,
    },
    /// The device has stopped: on request (`Ok`), or because retrying cannot help.
    Stopped(Result<(), DeviceError>),
}

/// A live connection.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayConnection {
    /// Slug of this device at the gateway; its tools are named `source__tool`. Version 1 gateways do not send
    /// it.
    pub source: Option<String>,
    /// Protocol version of the connection.
    pub version: u32,
    /// Tools accepted by the gateway; `None` before its answer.
    pub tools: Option<RegisteredTools>,
}

/// The gateway's answer to the list of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredTools {
    /// Number of live tools.
    pub live: usize,
    /// Refused tools with reasons.
    pub rejected: Arc<[Rejected]>,
}
