use toolway_types::RawJson;

use super::*;
use crate::event::{TurnEnd, TurnStatus};

fn chunk(text: &str) -> TurnEvent {
    TurnEvent::Chunk(text.to_owned())
}

fn call(id: CallId) -> TurnEvent {
    TurnEvent::ToolCall { id, name: "scan".to_owned(), arguments: RawJson::empty_object() }
}

fn progress() -> ProgressReport {
    ProgressReport { progress: 1.0, total: None, message: None, content: Vec::new() }
}

fn ended() -> TurnEvent {
    TurnEvent::Ended(TurnEnd {
        status: TurnStatus::Done,
        full_response: String::new(),
        usage: toolway_models::ModelUsage::default(),
        cost: None,
        currency: None,
        rounds: 1,
        tool_calls: 0,
        finish: None,
        client_calls: Vec::new(),
    })
}

fn join(audience: &TurnBroadcast) -> TurnViewer {
    audience.subscribe(&"t".into()).unwrap()
}

/// Returns the unread events of a viewer.
fn told(viewer: &mut TurnViewer) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(event) = viewer.events.try_recv() {
        told.push(match event {
            TurnEvent::Chunk(text) => text,
            TurnEvent::ChunkReset => "reset".to_owned(),
            TurnEvent::ToolProgress { .. } => "progress".to_owned(),
            TurnEvent::Ended(_) => "ended".to_owned(),
            other => format!("{other:?}"),
        });
    }
    told
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_is_behind_gets_every_event_in_order() {
    let audience = TurnBroadcast::default();
    let mut viewer = join(&audience);
    for at in 0..VIEWER_CAPACITY {
        assert!(!audience.publish(chunk(&format!("{at} "))));
    }
    assert!(audience.publish(chunk("a ")), "there is no more room");
    assert!(audience.publish(chunk("b ")));
    assert!(tokio::time::timeout(Duration::from_secs(1), audience.wait_for_viewers()).await.is_err());
    let first = viewer.events.recv().await;
    assert!(matches!(first, Some(TurnEvent::Chunk(text)) if text == "0 "));
    let reading = async {
        let mut all = String::from("0 ");
        while all.len() < audience.text_len() {
            if let Some(TurnEvent::Chunk(text)) = viewer.events.recv().await {
                all.push_str(&text);
            }
        }
        all
    };
    let ((), all) = tokio::join!(audience.wait_for_viewers(), reading);
    assert_eq!(all, audience.text_from(0));
    assert!(all.ends_with("a b "));
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_does_not_read_times_out() {
    let audience = TurnBroadcast::default();
    let mut idle = join(&audience);
    let started = Instant::now();
    for _ in 0..=VIEWER_CAPACITY {
        audience.publish_and_wait(chunk("x")).await;
    }
    assert_eq!(started.elapsed(), VIEWER_TIMEOUT);
    audience.publish_and_wait(chunk("y")).await;
    assert_eq!(started.elapsed(), VIEWER_TIMEOUT, "it is waited for once");
    assert_eq!(told(&mut idle).len(), VIEWER_CAPACITY);
    assert!(idle.events.recv().await.is_none(), "it has lost its view");
}

#[tokio::test(start_paused = true)]
async fn progress_is_published_only_for_running_calls_without_waiting() {
    let audience = TurnBroadcast::default();
    let mut viewer = join(&audience);
    let id = CallId::new();
    audience.publish_progress(id, progress());
    assert!(told(&mut viewer).is_empty(), "it has not begun");
    audience.publish(call(id));
    audience.publish_progress(id, progress());
    assert_eq!(told(&mut viewer)[1], "progress");
    for _ in 0..VIEWER_CAPACITY {
        audience.publish(chunk("x"));
    }
    audience.publish_progress(id, progress());
    assert_eq!(told(&mut viewer).len(), VIEWER_CAPACITY, "there was no room for it");
    let outcome = Arc::new(toolway_types::Outcome::Success(toolway_types::ToolOutput::default()));
    audience.publish(TurnEvent::ToolResult {
        id,
        name: "scan".to_owned(),
        outcome,
        duration: Duration::ZERO,
    });
    audience.publish_progress(id, progress());
    assert_eq!(told(&mut viewer).len(), 1, "it has ended");
}

#[tokio::test(start_paused = true)]
async fn discarded_text_is_reset_and_the_rest_repeated() {
    let audience = TurnBroadcast::default();
    let mut viewer = join(&audience);
    audience.publish(chunk("one "));
    let place = audience.text_len();
    assert!(!audience.truncate_text(place));
    assert_eq!(told(&mut viewer), ["one "], "nothing was said since");
    audience.publish(chunk("two"));
    audience.truncate_text(place);
    assert_eq!(told(&mut viewer), ["two", "reset", "one "]);
    assert_eq!(audience.text_from(0), "one ");
    audience.truncate_text(0);
    assert_eq!(told(&mut viewer), ["reset"]);
    assert_eq!(join(&audience).text_so_far, "");
}

#[tokio::test(start_paused = true)]
async fn an_ended_turn_accepts_no_viewers() {
    let audience = TurnBroadcast::default();
    let id = CallId::new();
    audience.publish(chunk("x"));
    audience.publish(call(id));
    assert_eq!(join(&audience).running_calls.len(), 1);
    let mut viewer = join(&audience);
    audience.publish(ended());
    assert!(audience.subscribe(&"t".into()).is_none());
    assert_eq!(told(&mut viewer), ["ended"]);
    let full = TurnBroadcast::default();
    let viewers: Vec<_> = (0..MAX_VIEWERS).map(|_| join(&full)).collect();
    assert!(full.subscribe(&"t".into()).is_none());
    drop(viewers);
}

#[tokio::test(start_paused = true)]
async fn it_is_unwatched_when_the_last_viewer_has_left() {
    let audience = Arc::new(TurnBroadcast::default());
    let (one, two) = (join(&audience), join(&audience));
    let watching = tokio::spawn({
        let audience = Arc::clone(&audience);
        async move { audience.wait_until_unwatched().await }
    });
    drop(one);
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    assert!(!watching.is_finished());
    drop(two);
    watching.await.unwrap();
}
