//! Tests of single calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, mpsc};
use toolway_device::schemars::JsonSchema;
use toolway_device::{
    Code, JsonObject, NoArguments, ProgressReport, RunningDevice, SpecDocument, Tool, ToolContext, ToolError,
    WaitingFor, failed,
};

use crate::gateway::{GatewayPeer, ScriptedGateway, within_test_timeout};

#[derive(serde::Deserialize, JsonSchema)]
struct AddArguments {
    a: i64,
    b: i64,
}

fn add() -> Tool {
    Tool::typed("add", "Adds", |args: AddArguments, _| async move { Ok(json!({ "sum": args.a + args.b })) })
}

fn simple<F, Fut>(name: &str, function: F) -> Tool
where
    F: Fn(JsonObject, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
{
    Tool::new(SpecDocument::named(name), function)
}

async fn connect_with_tools(tools: impl IntoIterator<Item = Tool>) -> (GatewayPeer, RunningDevice) {
    let gateway = ScriptedGateway::plain().await;
    let running = gateway.device().tools(tools).build().unwrap().start();
    (gateway.peer().await, running)
}

#[tokio::test]
async fn a_call_returns_a_structured_result() {
    let (mut peer, _running) = connect_with_tools([add()]).await;
    peer.call("1", "add", json!({ "a": 2, "b": 3 })).await;
    let result = peer.expect("tool_result").await;
    assert_eq!(
        result,
        json!({ "type": "tool_result", "id": "1", "output": "", "success": true, "structured": { "sum": 5 } })
    );
}

#[tokio::test]
async fn arguments_are_checked_on_the_device_too() {
    let (mut peer, _running) = connect_with_tools([add()]).await;
    peer.call("1", "add", json!({ "a": "two" })).await;
    let error = peer.expect("tool_error").await;
    assert_eq!(error["code"], "invalid_arguments");
    assert_eq!(error["error_type"], "validation_error");
    let text = error["error"].as_str().unwrap();
    assert!(text.contains("/a: ") && text.contains(r#""b" is a required property"#), "{text}");
}

#[tokio::test]
async fn an_unknown_tool_gets_the_exact_error_of_the_protocol() {
    let (mut peer, _running) = connect_with_tools([add()]).await;
    peer.call("1", "subtract", json!({})).await;
    let error = peer.expect("tool_error").await;
    assert_eq!(error["error"], "No handler registered");
    assert_eq!(error["id"], "1");
}

#[tokio::test]
async fn a_panic_becomes_an_error_and_other_calls_continue() {
    let burst = simple("burst", |_, _| async { panic!("the pipe is {}", "full") });
    let early = simple("early", |_, _| -> std::future::Ready<_> { panic!("before it began") });
    let (mut peer, _running) = connect_with_tools([burst, early, add()]).await;
    for (id, name, message) in [("1", "burst", "the pipe is full"), ("2", "early", "before it began")] {
        peer.call(id, name, json!({})).await;
        let error = peer.expect("tool_error").await;
        assert_eq!((&error["code"], &error["error"]), (&json!("tool_panicked"), &json!(message)));
    }
    peer.call("3", "add", json!({ "a": 1, "b": 1 })).await;
    assert_eq!(peer.expect("tool_result").await["structured"], json!({ "sum": 2 }));
}

#[tokio::test]
async fn an_error_carries_message_code_and_hint() {
    let plain = simple("plain", |_, _| async { Err(failed(std::io::Error::other("disk on fire"))) });
    let fine = simple("fine", |_, _| async {
        Err(ToolError::new(Code::FileNotFound, "File not found: a.txt").with_hint("look elsewhere"))
    });
    let (mut peer, _running) = connect_with_tools([plain, fine]).await;
    peer.call("1", "plain", json!({})).await;
    let error = peer.expect("tool_error").await;
    assert_eq!((&error["code"], &error["error"]), (&json!("tool_failed"), &json!("disk on fire")));
    peer.call("2", "fine", json!({})).await;
    let error = peer.expect("tool_error").await;
    assert_eq!((&error["code"], &error["hint"]), (&json!("file_not_found"), &json!("look elsewhere")));
}

#[tokio::test]
async fn progress_and_waiting_reach_the_gateway_in_order() {
    let tool = simple("slow", |_, cx| async move {
        cx.report_progress(ProgressReport::new(1.0).with_total(2.0).with_message("half")).await;
        {
            let _guard = cx.start_waiting(WaitingFor::Permission, "May it?").await;
        }
        {
            let hint = Some("see the notification".to_owned());
            let _guard = cx.start_waiting_with_hint(WaitingFor::Authorization, "Sign in", hint).await;
        }
        Ok(json!(cx.remaining().is_some_and(|left| left > Duration::from_secs(20))))
    });
    let (mut peer, _running) = connect_with_tools([tool]).await;
    peer.call("1", "slow", json!({})).await;
    let progress = peer.expect("tool_progress").await;
    assert_eq!(
        progress,
        json!({ "type": "tool_progress", "id": "1", "progress": 1.0, "total": 2.0, "message": "half" })
    );
    let waiting = peer.expect("tool_waiting").await;
    assert_eq!(
        waiting,
        json!({ "type": "tool_waiting", "id": "1", "for": "permission", "prompt": "May it?" })
    );
    let again = peer.expect("tool_progress").await;
    assert_eq!((&again["id"], &again["progress"]), (&json!("1"), &json!(1.0)), "the clock runs on");
    assert_eq!(
        peer.expect("tool_waiting").await,
        json!({ "type": "tool_waiting", "id": "1", "for": "authorization", "prompt": "Sign in",
                "hint": "see the notification" })
    );
    peer.expect("tool_progress").await;
    assert_eq!(peer.expect("tool_result").await["structured"], true);
}

#[tokio::test]
async fn a_cancelled_tool_is_notified_and_can_clean_up_r10() {
    let (told, mut heard) = mpsc::unbounded_channel();
    let tool = simple("careful", move |_, cx| {
        let told = told.clone();
        async move {
            told.send("started").unwrap();
            cx.cancelled().await;
            told.send("cleaned up").unwrap();
            Ok(json!("late"))
        }
    });
    let (mut peer, _running) = connect_with_tools([tool]).await;
    peer.call("1", "careful", json!({})).await;
    assert_eq!(within_test_timeout("the start", heard.recv()).await, Some("started"));
    peer.cancel("1").await;
    assert_eq!(within_test_timeout("the end", heard.recv()).await, Some("cleaned up"));
    assert_eq!(peer.expect("tool_result").await["structured"], "late");
}

#[tokio::test]
async fn a_tool_that_ignores_cancellation_is_dropped_r10() {
    struct DropNotifier(mpsc::UnboundedSender<()>);
    impl Drop for DropNotifier {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (gone, mut heard) = mpsc::unbounded_channel();
    let started = Arc::new(Notify::new());
    let begun = Arc::clone(&started);
    let deaf = simple("deaf", move |_, _| {
        let (mark, begun) = (DropNotifier(gone.clone()), Arc::clone(&begun));
        async move {
            begun.notify_one();
            std::future::pending::<()>().await;
            drop(mark);
            Ok(json!(null))
        }
    });
    let gateway = ScriptedGateway::plain().await;
    let device = gateway.device().tools([deaf, add()]).cancel_grace(Duration::from_millis(5));
    let _running = device.build().unwrap().start();
    let mut peer = gateway.peer().await;
    peer.call("1", "deaf", json!({})).await;
    within_test_timeout("the start", started.notified()).await;
    peer.cancel("1").await;
    within_test_timeout("the drop", heard.recv()).await;
    // No answer was sent, and the call does not run again.
    peer.call_again("1", "deaf", json!({}), 2).await;
    let answer = peer.expect("tool_error").await;
    assert_eq!((&answer["id"], &answer["error"]), (&json!("1"), &json!("The call was cancelled")));
}

#[tokio::test]
async fn concurrent_calls_are_limited_and_others_are_queued() {
    let gate = Arc::new(Semaphore::new(0));
    let (running_now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (begun, mut beginning) = mpsc::unbounded_channel();
    let tool = {
        let (gate, running_now, most) = (Arc::clone(&gate), Arc::clone(&running_now), Arc::clone(&most));
        simple("gated", move |_, _| {
            let (gate, running_now, most) = (Arc::clone(&gate), Arc::clone(&running_now), Arc::clone(&most));
            let begun = begun.clone();
            async move {
                most.fetch_max(running_now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                begun.send(()).unwrap();
                gate.acquire().await.unwrap().forget();
                running_now.fetch_sub(1, Ordering::SeqCst);
                Ok(json!("done"))
            }
        })
    };
    let gateway = ScriptedGateway::plain().await;
    let _running = gateway.device().tool(tool).concurrency(3).build().unwrap().start();
    let mut peer = gateway.peer().await;
    for id in 0..10 {
        peer.call(&id.to_string(), "gated", json!({})).await;
    }
    for _ in 0..3 {
        within_test_timeout("the first three", beginning.recv()).await.unwrap();
    }
    // A queued call is cancelled and never starts.
    peer.cancel("9").await;
    peer.call("read so far", "nobody", json!({})).await;
    assert_eq!(peer.read().await["id"], "read so far");
    gate.add_permits(9);
    for _ in 0..9 {
        assert_eq!(peer.expect("tool_result").await["structured"], "done");
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
    peer.call_again("9", "gated", json!({}), 2).await;
    assert_eq!(peer.expect("tool_error").await["error"], "The call was cancelled before it started");
}

#[tokio::test]
async fn a_sequential_tool_runs_alone() {
    let inside = Arc::new(AtomicUsize::new(0));
    let (begun, mut beginning) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let tool = |name: &str| {
        let (inside, gate, begun) = (Arc::clone(&inside), Arc::clone(&gate), begun.clone());
        let named = name.to_owned();
        simple(name, move |_, _| {
            let (inside, gate, begun) = (Arc::clone(&inside), Arc::clone(&gate), begun.clone());
            let named = named.clone();
            async move {
                let others = inside.fetch_add(1, Ordering::SeqCst);
                begun.send((named, others)).unwrap();
                gate.acquire().await.unwrap().forget();
                inside.fetch_sub(1, Ordering::SeqCst);
                Ok(json!("done"))
            }
        })
    };
    let (mut peer, _running) = connect_with_tools([tool("alone").sequential(), tool("shared")]).await;
    peer.call("1", "shared", json!({})).await;
    assert_eq!(within_test_timeout("1", beginning.recv()).await, Some(("shared".into(), 0)));
    peer.call("2", "alone", json!({})).await;
    peer.call("3", "shared", json!({})).await;
    // The answer to this call shows that 2 and 3 were read and are queued.
    peer.call("4", "nobody", json!({})).await;
    assert_eq!(peer.read().await["id"], "4");
    assert!(beginning.try_recv().is_err());
    gate.add_permits(1);
    assert_eq!(peer.read().await["id"], "1");
    let (_, others) = within_test_timeout("the next", beginning.recv()).await.unwrap();
    assert_eq!(others, 0);
    gate.add_permits(2);
    within_test_timeout("the last", beginning.recv()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(peer.read().await["structured"], "done");
    }
}

#[tokio::test]
async fn a_slow_call_does_not_delay_a_fast_one() {
    let slow = simple("slow", |_, cx| async move {
        cx.cancelled().await;
        Ok(json!(null))
    });
    let (mut peer, _running) = connect_with_tools([slow, add()]).await;
    peer.call("1", "slow", json!({})).await;
    peer.call("2", "add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(peer.read().await["id"], "2");
}

#[tokio::test]
async fn a_result_larger_than_a_frame_is_an_error_and_the_connection_stays() {
    let gateway = ScriptedGateway::plain().await;
    let large = Tool::typed("large", "Large", |_: NoArguments, _| async { Ok("x".repeat(5000)) });
    let _running = gateway.device().tools([large, add()]).build().unwrap().start();
    let mut answer = crate::gateway::connected("r");
    answer["limits"]["frame_bytes"] = json!(4096);
    let (mut peer, ..) = gateway.welcome(answer).await;
    peer.call("1", "large", json!({})).await;
    let error = peer.expect("tool_error").await;
    assert!(error["error"].as_str().unwrap().contains("4096"), "{error}");
    peer.call("2", "add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(peer.read().await["id"], "2");
}

#[tokio::test]
async fn seventy_parallel_calls_all_end_with_a_full_socket_r3() {
    let tool = Tool::typed("large", "Large", |_: NoArguments, _| async { Ok("x".repeat(200_000)) });
    let (mut peer, _running) = connect_with_tools([tool]).await;
    // Nothing reads meanwhile, so the device's socket and queue fill up.
    for id in 0..70 {
        peer.call(&id.to_string(), "large", json!({})).await;
    }
    let mut ids: Vec<usize> = Vec::new();
    for _ in 0..70 {
        ids.push(peer.expect("tool_result").await["id"].as_str().unwrap().parse().unwrap());
    }
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..70));
}
