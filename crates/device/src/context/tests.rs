use super::*;

fn context(remaining: Option<Duration>) -> ToolContext {
    ToolContext::without_gateway("ask", CancellationToken::new(), remaining)
}

#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_a_person_is_asked_but_for_two_minutes_at_most() {
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
async fn a_request_that_comes_again_brings_its_own_time() {
    let cx = context(Some(Duration::from_secs(30)));
    drop(cx.start_waiting(WaitingFor::Permission, "May it?").await);
    cx.0.record_request(Some(2), Some(Instant::now() + Duration::from_secs(7)));
    assert_eq!(cx.remaining(), Some(Duration::from_secs(7)));
    assert_eq!(context(None).remaining(), None);
}
