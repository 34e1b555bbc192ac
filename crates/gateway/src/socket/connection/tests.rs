use std::future::pending;

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_nothing_is_given_up() {
    let started = Instant::now();
    let done = while_taken(pending::<()>(), &Written::default(), PATIENCE).await;
    assert_eq!(done, None);
    assert_eq!(started.elapsed().as_secs(), PATIENCE.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_slow_is_waited_for() {
    let written = Written::default();
    let started = Instant::now();
    // One large frame over a slow line: a minute in all, but never still for long.
    let slow = async {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            written.add(1000);
        }
        "all of it"
    };
    assert_eq!(while_taken(slow, &written, PATIENCE).await, Some("all of it"));
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_stops_half_way_is_given_up_from_there() {
    let written = Written::default();
    let started = Instant::now();
    let stops = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(6)).await;
            written.add(1000);
        }
        pending::<()>().await;
    };
    assert_eq!(while_taken(stops, &written, PATIENCE).await, None);
    let ended = started.elapsed().as_secs_f64();
    assert!((28.0..=31.0).contains(&ended), "{ended} s, the last byte at 18 s");
}

#[test]
fn a_peers_goodbye_is_told_from_a_fall() {
    use axum::extract::ws::CloseFrame;
    let frame = |code| CloseFrame { code, reason: "".into() };
    for (code, expected) in [
        (1000, Close::Goodbye),
        (1001, Close::Goodbye),
        (1006, Close::PeerGone),
        (1011, Close::PeerGone),
        (4000, Close::PeerGone),
    ] {
        assert_eq!(Close::of_peer(Some(&frame(code))), expected, "{code}");
    }
    assert_eq!(Close::of_peer(None), Close::PeerGone);
}
