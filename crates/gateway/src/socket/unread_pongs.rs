//! Bounds the answers to the pings of a peer. The WebSocket library queues a pong for each ping in its send buffer, also
//! while the peer reads nothing.

/// Maximum size of the pongs that wait for a peer, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// Size of a pong without its payload, in bytes (RFC 6455, section 5.2).
const HEAD_BYTES: u64 = 2;

/// The pongs that a peer has not accepted.
#[derive(Debug, Default)]
pub(super) struct UnreadPongs {
    bytes: u64,
    /// Number of bytes that the peer had accepted at the last ping.
    accepted: u64,
}

impl UnreadPongs {
    /// Adds the pong for a ping with a payload of this size. `accepted` is the number of bytes that the peer has accepted
    /// so far. Returns false if the peer leaves too many pongs unread.
    pub(super) fn add(&mut self, payload: usize, accepted: u64) -> bool {
        let progress = accepted.saturating_sub(self.accepted);
        self.accepted = accepted;
        self.bytes = self.bytes.saturating_sub(progress);
        self.bytes = self.bytes.saturating_add(HEAD_BYTES).saturating_add(payload as u64);
        self.bytes <= MAX_BYTES
    }
}

#[cfg(test)]
mod tests;
