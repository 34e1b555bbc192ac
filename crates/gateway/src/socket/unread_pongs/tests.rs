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
