//! How much of each thing is allowed. Passing a limit is a clear error to whoever passed it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of each thing is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Largest WebSocket frame and largest body of a call over REST, in bytes.
    pub frame_bytes: usize,
    /// Most tools that one connection may register.
    pub tools_per_connection: usize,
    /// Most bytes of tool specs that one connection may register.
    pub spec_bytes_per_connection: usize,
    /// Most calls in flight on one device.
    pub calls_in_flight_per_device: usize,
    /// Most calls in flight that one connection made.
    pub calls_in_flight_per_connection: usize,
    /// Most calls in flight in all.
    pub calls_in_flight: usize,
    /// Most calls of one principal that run side by side for its models' answers.
    pub parallel_calls_per_principal: usize,
    /// Most frames that wait to be sent to one connection; one that reads too slowly is closed.
    pub send_queue: usize,
    /// Largest output of a tool, in bytes.
    pub output_bytes: usize,
    /// Most text of a tool's result that a model is given, in bytes. The record of the call keeps more.
    pub model_result_bytes: usize,
    /// Most sources of tools that one token may have.
    pub sources_per_token: usize,
    /// Most sources of tools that the owner may have.
    pub sources_per_owner: usize,
    /// Most connections in all.
    pub connections: usize,
    /// Most open event streams (progress, `calls tail`) and exports.
    pub sse_streams: usize,
    /// Largest body of a request that is not a call, in bytes.
    pub body_bytes: usize,
    /// Most pairing codes that wait to be used.
    pub pairing_codes: usize,
    /// Attempts to pair that one address has a minute.
    pub pairing_attempts_per_minute: u32,
    /// Requests with a wrong token that one address has a minute before it is told to slow down. One with a
    /// right token is never refused for this.
    pub failed_sign_ins_per_minute: u32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            frame_bytes: 16 << 20,
            tools_per_connection: 4096,
            spec_bytes_per_connection: 8 << 20,
            calls_in_flight_per_device: 256,
            calls_in_flight_per_connection: 1024,
            calls_in_flight: 10_000,
            parallel_calls_per_principal: 16,
            send_queue: 256,
            output_bytes: 16 << 20,
            model_result_bytes: 64 << 10,
            sources_per_token: 8,
            sources_per_owner: 64,
            connections: 20_000,
            sse_streams: 256,
            body_bytes: 64 << 10,
            pairing_codes: 64,
            pairing_attempts_per_minute: 30,
            failed_sign_ins_per_minute: 60,
        }
    }
}
