use std::future::pending;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_is_given_up() {
    let started = Instant::now();
    let done = wait_while_peer_reads(pending::<()>(), &BytesWritten::default(), PATIENCE).await;
    assert_eq!(done, None);
    assert_eq!(started.elapsed().as_secs(), PATIENCE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_slow_is_waited_for() {
    let written = BytesWritten::default();
    let started = Instant::now();
    // One large frame over a slow line: a minute in all, but never still for long.
    let slow = async {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            written.add(1000);
        }
        "all of it"
    };
    assert_eq!(wait_while_peer_reads(slow, &written, PATIENCE).await, Some("all of it"));
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_stops_half_way_is_given_up_from_there() {
    let written = BytesWritten::default();
    let started = Instant::now();
    let stops = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(6)).await;
            written.add(1000);
        }
        pending::<()>().await;
    };
    assert_eq!(wait_while_peer_reads(stops, &written, PATIENCE).await, None);
    let ended = started.elapsed().as_secs_f64();
    assert!((28.0..=31.0).contains(&ended), "{ended} s, the last byte at 18 s");
}

#[test]
fn a_peers_goodbye_is_told_from_a_fall() {
    use axum::extract::ws::CloseFrame;
    let frame = |code| CloseFrame { code, reason: "".into() };
    for (code, expected) in [
        (1000, CloseReason::Goodbye),
        (1001, CloseReason::Goodbye),
        (1006, CloseReason::PeerGone),
        (1011, CloseReason::PeerGone),
        (4000, CloseReason::PeerGone),
    ] {
        assert_eq!(CloseReason::of_peer(Some(&frame(code))), expected, "{code}");
    }
    assert_eq!(CloseReason::of_peer(None), CloseReason::PeerGone);
}
