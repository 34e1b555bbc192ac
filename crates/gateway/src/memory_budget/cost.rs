//! The memory that data of peers takes, from its size on the wire. The budget counts memory, not bytes on the wire: a
//! few bytes of JSON can take a hundred times as much when they are parsed.
//!
//! `toolway-load --memory-factors` measures each of these again. It holds a known amount in a gateway and compares the
//! growth of the process with what the gateway counts; it fails if the count is lower. `make test` runs it too.

use toolway_types::json::parsed_size;

/// Memory for each byte of a frame or body that has arrived while the rest is missing. Its buffer doubles when it is
/// full, and the former buffers leave holes. Measured: 1.9 with 128 frames of 8 MB that grew side by side.
pub(crate) const UNFINISHED_FACTOR: usize = 2;

/// Memory for each byte of a complete frame while it is decoded: the frame and the texts that are copied from it.
pub(crate) const DECODED_FACTOR: usize = 2;

/// Memory for each byte of a frame that waits to be sent: the frame, and its copy in the buffer of the socket.
const QUEUED_FACTOR: usize = 2;

/// Memory of a frame that waits to be sent, in addition to its text, in bytes.
const QUEUED_FRAME: usize = 128;

/// Memory for each byte of a tool's definition: its text, its parts, and their compiled form.
const DEFINITION_FACTOR: usize = 4;

/// Memory of a registered tool in addition to its definition, in bytes.
const TOOL: usize = 4 << 10;

/// Memory of a frame or body whose first bytes have arrived.
pub(crate) const fn unfinished(bytes: usize) -> usize {
    bytes.saturating_mul(UNFINISHED_FACTOR)
}

/// Memory of a complete frame while it is decoded.
pub(crate) const fn decoded(bytes: usize) -> usize {
    bytes.saturating_mul(DECODED_FACTOR)
}

/// Memory of a frame that waits to be sent.
pub(crate) const fn queued(bytes: usize) -> usize {
    bytes.saturating_mul(QUEUED_FACTOR).saturating_add(QUEUED_FRAME)
}

/// Memory of a JSON text that stays, with its values: the arguments of a running call, or the request that contains
/// them. The text is there twice, once as it arrived and once for the tool.
pub(crate) fn kept_json(text: &[u8]) -> usize {
    text.len().saturating_mul(2).saturating_add(parsed_size(text))
}

/// Memory of registered tools whose definitions have this size.
pub(crate) const fn definitions(tools: usize, bytes: usize) -> usize {
    bytes.saturating_mul(DEFINITION_FACTOR).saturating_add(tools.saturating_mul(TOOL))
}
