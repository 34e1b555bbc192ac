use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use toolway_android::authorization::{AuthorizationPrompt, AuthorizationRequest};

use super::{Event, Shell, UNTOLD, WAITING};

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

/// An app that is at the first thing that it was told until the sender is dropped, and what it has been told since.
fn busy() -> (Shell, Sender<()>, Receiver<String>) {
    let (done, work) = channel::<()>();
    let (told, events) = channel();
    let (begun, has_begun) = channel();
    let mut first = true;
    let shell = Shell::telling(move |event| {
        if std::mem::take(&mut first) {
            let _ = begun.send(());
            let _ = work.recv();
            return;
        }
        let _ = told.send(match event {
            Event::Ask { request, .. } => format!("ask {}", request.package),
            Event::Offer { request } => format!("offer {}", request.package),
            Event::Withdrawn { .. } => "withdrawn".to_owned(),
            other => format!("{other:?}"),
        });
    })
    .unwrap();
    shell.tell_soon(Event::Offer { request: request("first") });
    has_begun.recv().unwrap();
    (shell, done, events)
}

#[tokio::test]
async fn an_app_that_is_behind_is_told_later_and_not_of_everything() {
    let (shell, done, events) = busy();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for i in 0..1_000 {
        shell.offer(&request(&format!("app{i}")));
    }
    assert_eq!(tasks(), before + WAITING, "no more tasks wait than may");
    drop(done);
    while tasks() > before {
        tokio::task::yield_now().await;
    }
    shell.all_told().await;
    let told: BTreeSet<String> = events.try_iter().collect();
    let expected: BTreeSet<String> = (0..UNTOLD + WAITING).map(|i| format!("offer app{i}")).collect();
    assert_eq!(told, expected);
    // Those who waited are through: there are places again.
    shell.offer(&request("another"));
    shell.all_told().await;
    assert_eq!(events.try_iter().collect::<Vec<_>>(), ["offer another"]);
}

#[tokio::test]
async fn a_question_that_was_never_shown_is_not_taken_back() {
    let (shell, done, events) = busy();
    for i in 0..UNTOLD {
        shell.offer(&request(&format!("app{i}")));
    }
    let unheard = request("unheard");
    let unheard = tokio::time::timeout(Duration::ZERO, shell.agree(&unheard));
    assert!(unheard.await.is_err(), "there is no room for it");
    drop(done);
    shell.all_told().await;
    assert!(events.try_iter().all(|event| event.starts_with("offer ")));

    let shown = request("shown");
    let mut shown = std::pin::pin!(shell.agree(&shown));
    // Polled until the app was told.
    tokio::select! {
        biased;
        _ = &mut shown => panic!("nobody has answered"),
        () = shell.all_told() => {}
    }
    assert_eq!(events.try_iter().collect::<Vec<_>>(), ["ask shown"]);
}

#[tokio::test]
async fn a_question_that_nobody_waits_for_any_more_is_taken_back() {
    let (shell, done, events) = busy();
    drop(done);
    let shown = request("shown");
    {
        let mut shown = std::pin::pin!(shell.agree(&shown));
        tokio::select! {
            biased;
            _ = &mut shown => panic!("nobody has answered"),
            () = shell.all_told() => {}
        }
    }
    shell.all_told().await;
    assert_eq!(events.try_iter().collect::<Vec<_>>(), ["ask shown", "withdrawn"]);
}
