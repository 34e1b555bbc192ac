use super::*;

fn context(remaining: Option<Duration>) -> ToolContext {
    ToolContext::without_gateway("ask", CancellationToken::new(), remaining)
}

#[tokio::test(start_paused = true)]
async fn the_clock_pauses_for_a_person_for_at_most_two_minutes() {
    let cx = context(Some(Duration::from_secs(30)));
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(cx.remaining(), Some(Duration::from_secs(20)));
    let guard = cx.start_waiting(WaitingFor::Permission, "May it?").await;
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(cx.remaining(), Some(Duration::from_secs(20)));
    drop(guard);
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(cx.remaining(), Some(Duration::from_secs(15)));
    let _guard = cx.start_waiting(WaitingFor::Authorization, "Sign in").await;
    tokio::time::advance(Duration::from_secs(70)).await;
    assert_eq!(cx.remaining(), Some(Duration::from_secs(5)), "a minute was left to wait");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_request_sets_a_new_deadline() {
    let cx = context(Some(Duration::from_secs(30)));
    drop(cx.start_waiting(WaitingFor::Permission, "May it?").await);
    cx.0.record_request(Some(2), Some(Instant::now() + Duration::from_secs(7)));
    assert_eq!(cx.remaining(), Some(Duration::from_secs(7)));
    assert_eq!(context(None).remaining(), None);
}
