use super::*;

fn request(id: &str, attempt: u32, deadline_ms: Option<u64>) -> ToolCallRequest {
    ToolCallRequest {
        id: id.into(),
        name: "add".into(),
        attempt: Some(attempt),
        deadline_ms,
        ..ToolCallRequest::default()
    }
}

fn calls() -> Arc<CallTable> {
    Arc::new(CallTable::new(ResultCacheBounds::default()))
}

fn link(epoch: u64) -> (GatewayLink, mpsc::Receiver<Utf8Bytes>) {
    let (queue, receiver) = mpsc::channel(8);
    (GatewayLink { epoch, version: 2, frame_limit: 1 << 20, queue }, receiver)
}

fn begun(calls: &Arc<CallTable>, request: &ToolCallRequest, epoch: u64) -> Arc<DeviceCall> {
    match calls.begin(request, epoch) {
        CallAdmission::Run(call) => call,
        _ => panic!("it should run"),
    }
}

#[tokio::test]
async fn a_call_runs_once() {
    let calls = calls();
    let call = begun(&calls, &request("a", 1, None), 1);
    assert!(matches!(calls.begin(&request("a", 2, None), 2), CallAdmission::Running(None)));
    assert!(calls.finish(&call, "result".into()).is_none(), "there is no connection");
    assert!(
        matches!(calls.begin(&request("a", 3, None), 2), CallAdmission::Cached(frame) if frame == "result")
    );
    calls.acknowledge("a");
    assert!(
        matches!(calls.begin(&request("a", 4, None), 2), CallAdmission::Cached(frame) if frame == "result")
    );
}

#[tokio::test]
async fn unacknowledged_results_are_sent_on_the_next_connection() {
    let calls = calls();
    let (first, _queue) = link(1);
    assert!(calls.attach(first).is_empty());
    for id in ["a", "b", "c"] {
        let call = begun(&calls, &request(id, 1, None), 1);
        assert!(calls.finish(&call, id.into()).is_some());
    }
    calls.acknowledge("b");
    calls.detach(true);
    assert_eq!(calls.attach(link(2).0), ["a", "c"]);
    calls.detach(false);
    assert!(calls.attach(link(3).0).is_empty(), "without resume the gateway has closed them");
}

#[tokio::test(start_paused = true)]
async fn orphaned_calls_end_after_their_deadline() {
    let calls = calls();
    calls.attach(link(1).0);
    let kept = begun(&calls, &request("kept", 1, Some(1000)), 1);
    let left = begun(&calls, &request("left", 1, Some(1000)), 1);
    let endless = begun(&calls, &request("endless", 1, None), 1);
    calls.detach(true);
    let start = Instant::now();
    assert_eq!(calls.cancel_orphans(), Some(start + Duration::from_secs(6)));
    calls.attach(link(2).0);
    assert!(matches!(calls.begin(&request("kept", 2, Some(500)), 2), CallAdmission::Running(_)));
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(calls.cancel_orphans(), None);
    assert!(left.cancel.is_cancelled());
    assert!(!kept.cancel.is_cancelled() && !endless.cancel.is_cancelled());
}

#[tokio::test]
async fn calls_of_a_connection_without_resume_are_cancelled() {
    let calls = calls();
    calls.attach(link(1).0);
    let call = begun(&calls, &request("a", 1, None), 1);
    calls.detach(false);
    assert!(call.cancel.is_cancelled());
}

#[tokio::test]
async fn the_number_of_open_calls_is_limited() {
    let calls = calls();
    for at in 0..MAX_OPEN_CALLS {
        begun(&calls, &request(&at.to_string(), 1, None), 1);
    }
    assert!(matches!(calls.begin(&request("more", 1, None), 1), CallAdmission::TooManyCalls));
    assert!(
        matches!(calls.begin(&request("5", 2, None), 1), CallAdmission::Running(_)),
        "known ones are not refused"
    );
}

#[tokio::test]
async fn idle_is_signalled_when_the_last_call_ends() {
    let calls = calls();
    calls.wait_until_idle().await;
    let (one, two) = (begun(&calls, &request("1", 1, None), 1), begun(&calls, &request("2", 1, None), 1));
    let waiting = calls.wait_until_idle();
    tokio::pin!(waiting);
    calls.finish(&one, "".into());
    assert!(futures_util::poll!(&mut waiting).is_pending());
    calls.abandon(&two, "".into());
    waiting.await;
}
