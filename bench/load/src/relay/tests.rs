//! The relay together with callers and answering devices, over real sockets.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::*;
use crate::caller::{Caller, Calls, Tally};
use crate::device::answer_all;
use crate::open::{Schedule, open_loop};
use crate::side::Side;
use crate::socket;

const LIMIT: Duration = Duration::from_secs(30);

async fn callers(count: usize) -> Vec<Caller> {
    let (authority, serving) = serve().await.unwrap();
    tokio::spawn(serving);
    let calls = Arc::new(Calls::new(&["phone__read_note".to_owned()], 100));
    let mut callers = Vec::new();
    for number in 0..count {
        let caller = socket::open(&authority, &format!("/caller/{number}"), None).await.unwrap();
        let device = socket::open(&authority, &format!("/device/{number}"), None).await.unwrap();
        tokio::spawn(answer_all(device));
        callers.push(Caller::new(caller, calls.clone(), number));
    }
    callers
}

#[tokio::test]
async fn a_closed_loop_has_every_call_answered() {
    let mut side = Side::new(std::process::id(), callers(3).await);
    let slice = timeout(LIMIT, side.slice(Duration::from_millis(100), None, None)).await.unwrap().unwrap();
    assert!(slice.calls_per_s > 0.0 && slice.p50_us > 0.0, "{slice:?}");
    let figures = side.figures();
    assert!(figures.latency.count >= 3, "each caller calls at least once: {:?}", figures.latency);
    assert_eq!(figures.tally.errors, std::collections::BTreeMap::new());
}

#[tokio::test]
async fn an_open_loop_makes_exactly_the_calls_that_were_due() {
    let mut caller = callers(1).await.remove(0);
    let first = Instant::now();
    let schedule =
        Schedule { first, interval: Duration::from_millis(2), until: first + Duration::from_millis(50) };
    let mut tally = Tally::default();
    timeout(LIMIT, open_loop(&mut caller, schedule, &mut tally)).await.unwrap();
    assert_eq!((tally.latencies.summary().count, tally.error_count(), caller.lost), (25, 0, false));
}

#[tokio::test]
async fn a_caller_whose_device_has_gone_is_lost_and_counted() {
    let (authority, serving) = serve().await.unwrap();
    tokio::spawn(serving);
    let socket = socket::open(&authority, "/caller/0", None).await.unwrap();
    let mut device = socket::open(&authority, "/device/0", None).await.unwrap();
    let mut caller = Caller::new(socket, Arc::new(Calls::new(&["a__b".to_owned()], 1)), 0);
    device.close(None).await.unwrap();
    let mut tally = Tally::default();
    timeout(LIMIT, caller.closed_loop(Instant::now(), &mut tally)).await.unwrap();
    assert!(caller.lost);
    assert_eq!((tally.latencies.summary().count, tally.error_count()), (0, 1));
}
