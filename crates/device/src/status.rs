//! What a device's connection is doing, for whoever shows it.

use std::sync::Arc;
use std::time::Duration;

use toolway_wire::gateway_message::Rejected;

use crate::error::DeviceError;

/// The state of the connection.
#[derive(Debug, Clone, PartialEq)]
pub enum ConnectionStatus {
    /// On the way to the gateway.
    Connecting,
    /// The gateway has taken the connection.
    Connected(GatewayConnection),
    /// The connection was lost, or did not come about; the next try follows by itself.
    Reconnecting {
        /// What happened, in words.
        why: String,
        /// How long until the next try.
        delay: Duration,
    },
    /// It is over: by request (`Ok`) or because no further try would help.
    Stopped(Result<(), DeviceError>),
}

/// A live connection.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayConnection {
    /// The slug of this device at the gateway; its tools are called `source__tool`. Version 1 gateways do
    /// not say it.
    pub source: Option<String>,
    /// The version of the protocol that is spoken.
    pub version: u32,
    /// Which tools the gateway took, once it has said so.
    pub tools: Option<RegisteredTools>,
}

/// The gateway's answer to the list of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredTools {
    /// How many are live.
    pub live: usize,
    /// Which were refused, and why.
    pub rejected: Arc<[Rejected]>,
}
