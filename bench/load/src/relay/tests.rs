//! The relay together with callers and answering devices, over real sockets.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::*;
use crate::caller::{BenchCaller, CallTally, CallTemplate};
use crate::device::echo_frames;
use crate::schedule::{CallSchedule, open_loop};
use crate::socket;
use crate::target_measurement::TargetMeasurement;

const LIMIT: Duration = Duration::from_secs(30);

async fn callers(count: usize) -> Vec<BenchCaller> {
    let (authority, serving) = serve().await.unwrap();
    tokio::spawn(serving);
    let calls = Arc::new(CallTemplate::new(&["phone__read_note".to_owned()], 100));
    let mut callers = Vec::new();
    for number in 0..count {
        let caller = socket::open(&authority, &format!("/caller/{number}"), None).await.unwrap();
        let device = socket::open(&authority, &format!("/device/{number}"), None).await.unwrap();
        tokio::spawn(echo_frames(device));
        callers.push(BenchCaller::new(caller, calls.clone(), number));
    }
    callers
}

#[tokio::test]
async fn a_closed_loop_has_every_call_answered() {
    let mut side = TargetMeasurement::new(std::process::id(), callers(3).await);
    let slice =
        timeout(LIMIT, side.run_slice(Duration::from_millis(100), None, None)).await.unwrap().unwrap();
    assert!(slice.calls_per_s > 0.0 && slice.p50_us > 0.0, "{slice:?}");
    let figures = side.into_metrics();
    assert!(figures.latency.count >= 3, "each caller calls at least once: {:?}", figures.latency);
    assert_eq!(figures.tally.errors, std::collections::BTreeMap::new());
}

#[tokio::test]
async fn an_open_loop_makes_exactly_the_calls_that_were_due() {
    let mut caller = callers(1).await.remove(0);
    let first = Instant::now();
    let schedule =
        CallSchedule { first, interval: Duration::from_millis(2), until: first + Duration::from_millis(50) };
    let mut tally = CallTally::default();
    timeout(LIMIT, open_loop(&mut caller, schedule, &mut tally)).await.unwrap();
    assert_eq!((tally.latencies.summary().count, tally.error_count(), caller.is_lost), (25, 0, false));
}

#[tokio::test]
async fn a_caller_whose_device_has_gone_is_lost_and_counted() {
    let (authority, serving) = serve().await.unwrap();
    tokio::spawn(serving);
    let socket = socket::open(&authority, "/caller/0", None).await.unwrap();
    let mut device = socket::open(&authority, "/device/0", None).await.unwrap();
    let mut caller = BenchCaller::new(socket, Arc::new(CallTemplate::new(&["a__b".to_owned()], 1)), 0);
    device.close(None).await.unwrap();
    let mut tally = CallTally::default();
    timeout(LIMIT, caller.closed_loop(Instant::now(), &mut tally)).await.unwrap();
    assert!(caller.is_lost);
    assert_eq!((tally.latencies.summary().count, tally.error_count()), (0, 1));
}
