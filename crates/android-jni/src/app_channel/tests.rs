use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use toolway_android::authorization::{AuthorizationPrompt, AuthorizationRequest};

use super::{AppChannel, AppEvent, MAX_WAITING_TASKS, QUEUE_CAPACITY};

fn request(package: &str) -> AuthorizationRequest {
    AuthorizationRequest {
        package: package.to_owned(),
        label: "Notes".to_owned(),
        authority: format!("{package}.tools"),
        tool: None,
        message: "not before you are asked".to_owned(),
        hint: None,
        action: None,
    }
}

/// Creates an app that is blocked in its first event until the sender is dropped, and the list of its later
/// events.
fn busy() -> (AppChannel, Sender<()>, Receiver<String>) {
    let (done, work) = channel::<()>();
    let (told, events) = channel();
    let (begun, has_begun) = channel();
    let mut first = true;
    let shell = AppChannel::with_callback(move |event| {
        if std::mem::take(&mut first) {
            let _ = begun.send(());
            let _ = work.recv();
            return;
        }
        let _ = told.send(match event {
            AppEvent::Ask { request, .. } => format!("ask {}", request.package),
            AppEvent::Offer { request } => format!("offer {}", request.package),
            AppEvent::Withdrawn { .. } => "withdrawn".to_owned(),
            other => format!("{other:?}"),
        });
    })
    .unwrap();
    shell.send_detached(AppEvent::Offer { request: request("first") });
    has_begun.recv().unwrap();
    (shell, done, events)
}

#[tokio::test]
async fn a_slow_app_gets_events_later_and_not_all() {
    let (shell, done, events) = busy();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for i in 0..1_000 {
        shell.notify_authorization_required(&request(&format!("app{i}")));
    }
    assert_eq!(tasks(), before + MAX_WAITING_TASKS, "no more tasks wait than may");
    drop(done);
    while tasks() > before {
        tokio::task::yield_now().await;
    }
    shell.flush().await;
    let told: BTreeSet<String> = events.try_iter().collect();
    let expected: BTreeSet<String> =
        (0..QUEUE_CAPACITY + MAX_WAITING_TASKS).map(|i| format!("offer app{i}")).collect();
    assert_eq!(told, expected);
    // The waiting senders are done, so there is space again.
    shell.notify_authorization_required(&request("another"));
    shell.flush().await;
    assert_eq!(events.try_iter().collect::<Vec<_>>(), ["offer another"]);
}

#[tokio::test]
async fn a_question_that_was_never_shown_is_not_withdrawn() {
    let (shell, done, events) = busy();
    for i in 0..QUEUE_CAPACITY {
        shell.notify_authorization_required(&request(&format!("app{i}")));
    }
    let unheard = request("unheard");
    let unheard = tokio::time::timeout(Duration::ZERO, shell.request_consent(&unheard));
    assert!(unheard.await.is_err(), "there is no room for it");
    drop(done);
    shell.flush().await;
    assert!(events.try_iter().all(|event| event.starts_with("offer ")));

    let shown = request("shown");
    let mut shown = std::pin::pin!(shell.request_consent(&shown));
    // Polled until the app has got the event.
    tokio::select! {
        biased;
        _ = &mut shown => panic!("nobody has answered"),
        () = shell.flush() => {}
    }
    assert_eq!(events.try_iter().collect::<Vec<_>>(), ["ask shown"]);
}

#[tokio::test]
async fn an_abandoned_question_is_withdrawn() {
    let (shell, done, events) = busy();
    drop(done);
    let shown = request("shown");
    {
        let mut shown = std::pin::pin!(shell.request_consent(&shown));
        tokio::select! {
            biased;
            _ = &mut shown => panic!("nobody has answered"),
            () = shell.flush() => {}
        }
    }
    shell.flush().await;
    assert_eq!(events.try_iter().collect::<Vec<_>>(), ["ask shown", "withdrawn"]);
}
