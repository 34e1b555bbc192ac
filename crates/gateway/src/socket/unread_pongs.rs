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
mod tests {
    use super::*;

    const LARGEST_PING: usize = 125;

    #[test]
    fn a_peer_that_reads_its_pongs_may_send_any_number_of_pings() {
        let mut pongs = UnreadPongs::default();
        for pings in 0..10_000_u64 {
            assert!(pongs.add(LARGEST_PING, pings * 127), "{pings}");
        }
    }

    #[test]
    fn a_peer_that_reads_nothing_has_64_kib_of_pongs_at_most() {
        let mut pongs = UnreadPongs::default();
        let sent = (0..10_000).take_while(|_| pongs.add(LARGEST_PING, 1_000_000)).count();
        // Other data that the peer accepted before it stopped counts at its first ping only.
        assert_eq!(sent, (64 << 10) / 127);
    }

    #[test]
    fn a_slow_peer_gets_as_much_as_it_reads() {
        let mut pongs = UnreadPongs::default();
        let mut accepted = 0;
        let sent = (0..10_000)
            .take_while(|_| {
                accepted += 27;
                pongs.add(LARGEST_PING, accepted)
            })
            .count();
        // Each ping leaves 100 bytes more.
        assert_eq!(sent, (64 << 10) / 100);
    }
}
