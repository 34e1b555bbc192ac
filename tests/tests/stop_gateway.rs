//! Stops a gateway during calls: they end with an answer within the shutdown timeout, and the record matches.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_device::{ConnectionStatus, Tool};
use toolway_tests::caller::ChatCaller;
use toolway_tests::device::{self, NumberArgs};
use toolway_tests::process::TestFolder;
use toolway_tests::rest;
use toolway_tests::runs::RunLog;
use toolway_tests::with_timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_with_an_answer() {
    let folder = TestFolder::new();
    let mut gateway = folder.serve(&["--set", "timeouts.shutdown_s=4"]).await;
    let runs = RunLog::default();
    let (release, released) = watch::channel(false);
    let noted = runs.clone();
    let wait = Tool::typed("wait", "Waits", move |args: NumberArgs, cx| {
        noted.record_run(cx.call_id(), args.n);
        let mut released = released.clone();
        async move {
            let _ = released.wait_for(|it| *it).await;
            Ok(json!({"n": args.n}))
        }
    });
    let builder = device::builder(&gateway.url(), &gateway.token, "box");
    let device = device::start(builder.tools([wait, device::hanging_tool(&runs)])).await;
    let caller = ChatCaller::connect(gateway.address(), &gateway.token).await;
    let (mut waits, mut holds) = (Vec::new(), Vec::new());
    for n in 0..20 {
        waits.push(caller.send_call("box__wait", json!({"n": n})).await);
        holds.push(caller.send_call("box__hold", json!({"n": n})).await);
    }
    runs.wait_for_count(40).await;

    let begun = Instant::now();
    let (address, token) = (gateway.address(), gateway.token.clone());
    gateway.program.signal(rustix::process::Signal::TERM);
    gateway.program.wait_for_stderr("stopping").await;
    // It accepts no new calls, but lets running ones end.
    release.send_replace(true);
    for (n, id) in waits.iter().enumerate() {
        let answer = caller.wait_for_answer(id).await.unwrap();
        assert_eq!(answer["result"], json!({"n": n}), "{answer}");
    }
    for id in &holds {
        let answer = caller.wait_for_answer(id).await.unwrap();
        assert_eq!(
            (&answer["code"], &answer["dispatched"]),
            (&json!("shutting_down"), &json!(true)),
            "{answer}"
        );
    }
    caller.wait_closed().await;
    let mut status = device.handle().status();
    let away = status.wait_for(|it| matches!(it, ConnectionStatus::Reconnecting { .. }));
    with_timeout("a device that waits for the gateway", away).await.unwrap();
    let (code, said) = gateway.program.wait_for_exit().await;
    assert_eq!(code, 0, "{said}");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(6), "timeouts.shutdown_s is 4: {took:?}");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");

    let gateway = folder.serve(&[]).await;
    let record = rest::fetch_all_calls(gateway.address(), &token).await;
    let with = |code: serde_json::Value| record.values().filter(|call| call["code"] == code).count();
    assert_eq!((record.len(), with(json!(null)), with(json!("shutting_down"))), (40, 20, 20), "{record:?}");
}
