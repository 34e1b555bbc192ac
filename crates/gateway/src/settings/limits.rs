//! Settings for limits. Exceeding a limit is a clear error for the client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits on sizes and numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Maximum size of a WebSocket frame and of the body of a call over REST, in bytes.
    pub frame_bytes: usize,
    /// Maximum number of tools that one connection may register.
    pub tools_per_connection: usize,
    /// Maximum size of all tool specs of one connection, in bytes.
    pub spec_bytes_per_connection: usize,
    /// Maximum number of calls in flight on one device.
    pub calls_in_flight_per_device: usize,
    /// Maximum number of calls in flight from one connection.
    pub calls_in_flight_per_connection: usize,
    /// Maximum number of calls in flight in total.
    pub calls_in_flight: usize,
    /// Maximum number of parallel calls of one principal for model answers.
    pub parallel_calls_per_principal: usize,
    /// Maximum number of frames queued for one connection. A connection that reads too slowly is closed.
    pub send_queue: usize,
    /// Maximum size of a tool's output, in bytes.
    pub output_bytes: usize,
    /// Maximum size of a tool result's text for models, in bytes. The call record keeps more.
    pub model_result_bytes: usize,
    /// Maximum number of tool sources of one token.
    pub sources_per_token: usize,
    /// Maximum number of tool sources of the owner.
    pub sources_per_owner: usize,
    /// Maximum number of open connections. A quarter of them is kept for the owner. Of those without a token,
    /// 1,024 may be open, each for `timeouts.request_s`.
    pub connections: usize,
    /// Maximum number of connections of one principal other than the owner. A device may have an eighth of it.
    pub connections_per_principal: usize,
    /// Maximum memory of the data of all peers, in bytes: unfinished frames and bodies, arguments of running calls,
    /// unread answers, tool definitions, MCP sessions and running turns. Default: 256 MiB, or an eighth of the machine's
    /// memory on a smaller one.
    pub memory_bytes: Option<usize>,
    /// Maximum number of open event streams (progress, `calls tail`) and exports. A quarter of them is kept
    /// for the owner.
    pub sse_streams: usize,
    /// Maximum number of those of one principal other than the owner.
    pub sse_streams_per_principal: usize,
    /// Maximum size of the body of a request other than a call, in bytes.
    pub body_bytes: usize,
    /// Maximum number of pending pairing codes.
    pub pairing_codes: usize,
    /// Maximum number of pairing attempts of one address per minute.
    pub pairing_attempts_per_minute: u32,
    /// Maximum number of requests with an invalid token of one address per minute. Requests with a valid
    /// token are never limited.
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
            connections_per_principal: 256,
            memory_bytes: None,
            sse_streams: 256,
            sse_streams_per_principal: 32,
            body_bytes: 64 << 10,
            pairing_codes: 64,
            pairing_attempts_per_minute: 30,
            failed_sign_ins_per_minute: 60,
        }
    }
}
