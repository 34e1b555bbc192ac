//! Tests of calls across lost connections: none is lost, none runs twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use toolway_device::{ConnectionStatus, SpecDocument, Tool, WaitingFor};

use crate::gateway::{ScriptedGateway, connected, status, within_test_timeout};

/// A tool that counts its runs and ends on command.
struct CountingTool {
    runs: Arc<AtomicUsize>,
    started: Arc<Notify>,
    gate: Arc<Semaphore>,
}

impl CountingTool {
    fn new() -> Self {
        Self { runs: Arc::default(), started: Arc::default(), gate: Arc::new(Semaphore::new(0)) }
    }

    fn tool(&self) -> Tool {
        let (runs, started, gate) =
            (Arc::clone(&self.runs), Arc::clone(&self.started), Arc::clone(&self.gate));
        Tool::new(SpecDocument::named("count"), move |_, _| {
            let (runs, started, gate) = (Arc::clone(&runs), Arc::clone(&started), Arc::clone(&gate));
            async move {
                let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
                started.notify_one();
                gate.acquire().await.unwrap().forget();
                Ok(json!({ "run": run }))
            }
        })
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn a_call_survives_a_reconnect_and_runs_once_r1() {
    let gateway = ScriptedGateway::plain().await;
    let counting = CountingTool::new();
    let _running = gateway.device().tool(counting.tool()).build().unwrap().start();
    let (mut peer, connect, _) = gateway.welcome(connected("resume-1")).await;
    assert!(connect.get("resume_token").is_none());
    peer.call("1", "count", json!({})).await;
    within_test_timeout("the start", counting.started.notified()).await;
    peer.drop_connection();
    let (mut peer, connect, register) = gateway.welcome(connected("resume-2")).await;
    assert_eq!(connect["resume_token"], "resume-1");
    assert_eq!(register["mode"], "replace");
    peer.call_again("1", "count", json!({}), 2).await;
    counting.gate.add_permits(1);
    let result = peer.expect("tool_result").await;
    assert_eq!((&result["id"], &result["structured"]), (&json!("1"), &json!({ "run": 1 })));
    assert_eq!(counting.runs(), 1);
    peer.drop_connection();
    let (_, connect, _) = within_test_timeout("the next", async {
        gateway.welcome_after_results(connected("resume-3"), 1).await
    })
    .await;
    assert_eq!(connect["resume_token"], "resume-2", "the newest counts");
}

#[tokio::test]
async fn a_result_that_was_not_acknowledged_is_sent_again() {
    let gateway = ScriptedGateway::plain().await;
    let counting = CountingTool::new();
    counting.gate.add_permits(3);
    let running = gateway.device().tool(counting.tool()).build().unwrap().start();
    let mut peer = gateway.peer().await;
    for id in ["1", "2"] {
        peer.call(id, "count", json!({})).await;
        peer.expect("tool_result").await;
    }
    peer.acknowledge("2").await;
    // The answer to this call shows that the acknowledgement was read.
    peer.call("3", "nobody", json!({})).await;
    peer.expect("tool_error").await;
    peer.acknowledge("3").await;
    peer.call("4", "nobody", json!({})).await;
    peer.expect("tool_error").await;
    peer.drop_connection();
    let mut peer = gateway.accept().await;
    peer.expect("connect").await;
    peer.send(connected("resume-2")).await;
    assert_eq!(peer.expect("tool_result").await["id"], "1");
    assert_eq!(peer.expect("tool_error").await["id"], "4");
    peer.expect("register_tools").await;
    // A repeated request is answered from memory.
    peer.call_again("2", "count", json!({}), 2).await;
    let again = peer.expect("tool_result").await;
    assert_eq!((&again["id"], &again["structured"]), (&json!("2"), &json!({ "run": 2 })));
    assert_eq!(counting.runs(), 2);
    drop(running);
}

#[tokio::test]
async fn a_result_without_a_connection_is_sent_after_the_reconnect() {
    let gateway = ScriptedGateway::plain().await;
    let counting = CountingTool::new();
    let running = gateway.device().tool(counting.tool()).build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.call("1", "count", json!({})).await;
    within_test_timeout("the start", counting.started.notified()).await;
    let mut states = running.handle().status();
    peer.drop_connection();
    status(&mut states, |now| !matches!(now, ConnectionStatus::Connected(_))).await;
    counting.gate.add_permits(1);
    let mut peer = gateway.accept().await;
    peer.expect("connect").await;
    peer.send(connected("resume-2")).await;
    // The result comes before or after the registration.
    let mut frames = [peer.read().await, peer.read().await];
    frames.sort_by_key(|frame| frame["type"].to_string());
    assert_eq!(frames[0]["type"], "register_tools");
    assert_eq!((&frames[1]["id"], &frames[1]["structured"]), (&json!("1"), &json!({ "run": 1 })));
}

#[tokio::test]
async fn a_repeated_request_does_nothing_while_the_call_runs() {
    let gateway = ScriptedGateway::plain().await;
    let counting = CountingTool::new();
    let _running = gateway.device().tool(counting.tool()).build().unwrap().start();
    let mut peer = gateway.peer().await;
    for attempt in 1..=5 {
        peer.call_again("1", "count", json!({}), attempt).await;
    }
    within_test_timeout("the start", counting.started.notified()).await;
    counting.gate.add_permits(5);
    assert_eq!(peer.expect("tool_result").await["id"], "1");
    peer.call("2", "nobody", json!({})).await;
    assert_eq!(peer.expect("tool_error").await["id"], "2", "nothing else came for the first");
    assert_eq!(counting.runs(), 1);
}

#[tokio::test]
async fn a_pending_prompt_is_reported_again_after_a_resume() {
    let gateway = ScriptedGateway::plain().await;
    let answer = Arc::new(Notify::new());
    let tool = {
        let answer = Arc::clone(&answer);
        Tool::new(SpecDocument::named("ask"), move |_, cx| {
            let answer = Arc::clone(&answer);
            async move {
                let guard = cx.start_waiting(WaitingFor::Authorization, "Sign in").await;
                answer.notified().await;
                drop(guard);
                Ok("yes")
            }
        })
    };
    let _running = gateway.device().tool(tool).build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.call("1", "ask", json!({})).await;
    peer.expect("tool_waiting").await;
    peer.drop_connection();
    let mut peer = gateway.peer().await;
    peer.call_again("1", "ask", json!({}), 2).await;
    let waiting = peer.expect("tool_waiting").await;
    assert_eq!((&waiting["id"], &waiting["for"]), (&json!("1"), &json!("authorization")));
    answer.notify_one();
    peer.expect("tool_progress").await;
    assert_eq!(peer.expect("tool_result").await["output"], "yes");
}

#[tokio::test]
async fn without_resume_the_calls_of_a_lost_connection_are_stopped() {
    let gateway = ScriptedGateway::plain().await;
    let (stopped, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let tool = Tool::new(SpecDocument::named("long"), move |_, cx| {
        let stopped = stopped.clone();
        async move {
            stopped.send("started").unwrap();
            cx.cancelled().await;
            stopped.send("stopped").unwrap();
            Ok(())
        }
    });
    let _running = gateway.device().tool(tool).build().unwrap().start();
    let v1 = json!({ "type": "connected", "v": 1, "message": "Connection established" });
    let (mut peer, ..) = gateway.welcome(v1.clone()).await;
    peer.send(json!({ "type": "tool_call_request", "id": "1", "name": "long", "args": {} })).await;
    assert_eq!(within_test_timeout("the start", heard.recv()).await, Some("started"));
    peer.drop_connection();
    assert_eq!(within_test_timeout("the end", heard.recv()).await, Some("stopped"));
    let (mut peer, connect, register) = gateway.welcome(v1).await;
    assert!(connect.get("resume_token").is_none() && register.get("mode").is_none());
    peer.send(json!({ "type": "tool_call_request", "id": "2", "name": "nobody", "args": {} })).await;
    let next = peer.read().await;
    assert_eq!(next["id"], "2", "what came of the first is nobody's concern any more");
}
