use std::future::pending;

use tokio::time::Instant;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::test(start_paused = true)]
async fn a_peer_that_accepts_nothing_times_out() {
    let started = Instant::now();
    let done = wait_while_peer_reads(pending::<()>(), &BytesWritten::default(), TIMEOUT).await;
    assert_eq!(done, None);
    assert_eq!(started.elapsed().as_secs(), TIMEOUT.as_secs());
}

#[tokio::test(start_paused = true)]
async fn a_slow_peer_does_not_time_out() {
    let written = BytesWritten::default();
    let started = Instant::now();
    // One large frame over a slow connection: a minute in total, but never a long pause.
    let slow = async {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            written.add(1000);
        }
        "all of it"
    };
    assert_eq!(wait_while_peer_reads(slow, &written, TIMEOUT).await, Some("all of it"));
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_stops_reading_times_out() {
    let written = BytesWritten::default();
    let started = Instant::now();
    let stops = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(6)).await;
            written.add(1000);
        }
        pending::<()>().await;
    };
    assert_eq!(wait_while_peer_reads(stops, &written, TIMEOUT).await, None);
    let ended = started.elapsed().as_secs_f64();
    assert!((28.0..=31.0).contains(&ended), "{ended} s, the last byte at 18 s");
}

#[tokio::test(start_paused = true)]
async fn a_peer_is_silent_for_three_heartbeats_before_it_is_closed() {
    let heartbeat = Duration::from_secs(10);
    let account = crate::memory_budget::MemoryBudget::new(1 << 20, 1 << 10).open_anonymous();
    let (outbox, mut queue) = Outbox::new(100, account);
    let heard = AtomicBool::new(false);
    let started = Instant::now();
    let speak_at = async |second: u64| {
        tokio::time::sleep_until(started + Duration::from_secs(second)).await;
        heard.store(true, Ordering::Relaxed);
    };
    let speaking = async {
        speak_at(29).await;
        // Just after a heartbeat.
        speak_at(51).await;
    };
    let (close, ()) = tokio::join!(watch_heartbeat(&outbox, heartbeat, &heard), speaking);
    assert!(matches!(close, CloseReason::Code(TOO_SLOW, _)), "{close:?}");
    assert_eq!(started.elapsed().as_secs(), 90, "at 80 s, the silence has lasted 29 s");
    let pings = std::iter::from_fn(|| queue.try_recv()).filter(|it| matches!(it, OutgoingFrame::Ping));
    assert_eq!(pings.count(), 8);
}

#[test]
fn a_normal_close_differs_from_a_failure() {
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
