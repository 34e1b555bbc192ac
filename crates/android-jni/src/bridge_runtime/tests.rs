use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use toolway_android::host::memory::{MemoryApp, MemoryHost};
use toolway_android::{Bundle, ProviderState};

use super::{MAX_REQUESTS, RunningBridge, SHUTDOWN_TIMEOUT};
use crate::app_channel::{AppChannel, AppEvent};
use crate::settings::BridgeSettings;

const PACKAGE: &str = "com.example.notes";
const AUTHORITY: &str = "com.example.notes.clawseed.tools";

/// Returns settings for a gateway that does not exist.
fn settings() -> BridgeSettings {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    BridgeSettings::from_bundle(
        &Bundle::new().with("url", url.as_str()).with("token", "tw_device_1").with("name", "Phone"),
    )
    .unwrap()
}

fn empty_list() -> Bundle {
    Bundle::new().with("status", "success").with("data", r#"{"tools":[]}"#)
}

/// Creates a channel whose app gets no event before `gate` opens, and the list of its events.
fn behind(gate: Receiver<()>) -> (AppChannel, Receiver<String>) {
    let (told, events) = channel();
    let mut open = false;
    let shell = AppChannel::with_callback(move |event| {
        // Open permanently once the other end is dropped.
        open = open || gate.recv().is_err();
        let _ = told.send(match event {
            AppEvent::Names(names) => format!("names {names}"),
            other => format!("{other:?}"),
        });
    });
    (shell.unwrap(), events)
}

#[test]
fn names_given_just_before_the_end_are_sent() {
    let (asked, was_asked) = channel();
    let host = MemoryHost::new();
    host.install(MemoryApp::cetp(PACKAGE, move |_| {
        let _ = asked.send(());
        Ok(Some(empty_list()))
    }));
    let (open, gate) = channel();
    let (shell, events) = behind(gate);
    let number = RunningBridge::start(Arc::new(host), shell, settings()).unwrap();
    was_asked.recv().unwrap();
    let (ended, has_ended) = channel();
    let stopping = std::thread::spawn(move || {
        let ran = RunningBridge::stop(number);
        let _ = ended.send(());
        ran
    });
    // Far less than the app may take, and far more than stopping takes.
    assert!(has_ended.recv_timeout(SHUTDOWN_TIMEOUT / 5).is_err(), "it has not waited for the app");
    drop(open);
    assert!(stopping.join().unwrap());
    let names: Vec<String> = events.try_iter().filter(|event| event.starts_with("names ")).collect();
    let owner = format!(
        r#"{{"package":"{PACKAGE}","authority":"{AUTHORITY}","certificate":"certificate of {PACKAGE}"}}"#
    );
    assert_eq!(names, [format!(r#"names {{"notes":{owner}}}"#)]);
}

#[test]
fn an_unresponsive_app_does_not_prevent_stopping() {
    let (_shut, gate) = channel();
    let (shell, events) = behind(gate);
    let number = RunningBridge::start(Arc::new(MemoryHost::new()), shell, settings()).unwrap();
    assert!(RunningBridge::stop(number));
    assert!(!RunningBridge::stop(number), "it has stopped");
    assert!(events.try_iter().next().is_none());
}

#[test]
fn the_number_of_requests_is_limited() {
    let host = MemoryHost::new();
    host.install(MemoryApp::cetp(PACKAGE, |_| {
        Ok(Some(
            Bundle::new()
                .with("status", "error")
                .with("error_code", "AUTH_REQUIRED")
                .with("error_message", "not before you are asked"),
        ))
    }));
    let (told, seen) = channel();
    let shell = AppChannel::with_callback(move |event| {
        if let AppEvent::Overview(overview) = event {
            let waits = |state: &ProviderState| matches!(state, ProviderState::AuthorizationRequired { .. });
            if overview.providers.iter().any(|provider| waits(&provider.state)) {
                let _ = told.send(());
            }
        }
    });
    let number = RunningBridge::start(Arc::new(host), shell.unwrap(), settings()).unwrap();
    seen.recv().unwrap();
    let begun =
        (0..MAX_REQUESTS + 5).filter(|_| RunningBridge::authorize(number, AUTHORITY.to_owned())).count();
    assert_eq!(begun, MAX_REQUESTS, "nobody has answered yet");
    assert!(RunningBridge::stop(number), "what was asked ends with it");
    assert!(!RunningBridge::authorize(number, AUTHORITY.to_owned()));
}
