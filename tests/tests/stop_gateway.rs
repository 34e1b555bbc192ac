//! A gateway that is told to stop in the middle of calls: they end, with an answer, within the time that stopping
//! may take, and the record says the same.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests fail by panicking")]

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use toolway_device::{Status, Tool};
use toolway_tests::caller::Caller;
use toolway_tests::device::{self, Number};
use toolway_tests::process::Folder;
use toolway_tests::rest;
use toolway_tests::runs::Runs;
use toolway_tests::within;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_with_an_answer() {
    let folder = Folder::new();
    let mut gateway = folder.serve(&["--set", "timeouts.shutdown_s=4"]).await;
    let runs = Runs::default();
    let (release, released) = watch::channel(false);
    let noted = runs.clone();
    let wait = Tool::typed("wait", "Waits", move |args: Number, cx| {
        noted.note(cx.call_id(), args.n);
        let mut released = released.clone();
        async move {
            let _ = released.wait_for(|it| *it).await;
            Ok(json!({"n": args.n}))
        }
    });
    let builder = device::builder(&gateway.url(), &gateway.token, "box");
    let device = device::start(builder.tools([wait, device::hold(&runs)])).await;
    let caller = Caller::connect(gateway.address(), &gateway.token).await;
    let (mut waits, mut holds) = (Vec::new(), Vec::new());
    for n in 0..20 {
        waits.push(caller.start("box__wait", json!({"n": n})).await);
        holds.push(caller.start("box__hold", json!({"n": n})).await);
    }
    runs.reach(40).await;

    let begun = Instant::now();
    let (address, token) = (gateway.address(), gateway.token.clone());
    gateway.program.signal(rustix::process::Signal::TERM);
    gateway.program.said("stopping").await;
    // It takes nobody new, but lets those end who are about to.
    release.send_replace(true);
    for (n, id) in waits.iter().enumerate() {
        let answer = caller.answer(id).await.unwrap();
        assert_eq!(answer["result"], json!({"n": n}), "{answer}");
    }
    for id in &holds {
        let answer = caller.answer(id).await.unwrap();
        assert_eq!(
            (&answer["code"], &answer["dispatched"]),
            (&json!("shutting_down"), &json!(true)),
            "{answer}"
        );
    }
    caller.lost().await;
    let mut status = device.handle().status();
    let away = status.wait_for(|it| matches!(it, Status::Reconnecting { .. }));
    within("a device that waits for the gateway", away).await.unwrap();
    let (code, said) = gateway.program.end().await;
    assert_eq!(code, 0, "{said}");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(6), "timeouts.shutdown_s is 4: {took:?}");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");

    let gateway = folder.serve(&[]).await;
    let record = rest::all_calls(gateway.address(), &token).await;
    let with = |code: serde_json::Value| record.values().filter(|call| call["code"] == code).count();
    assert_eq!((record.len(), with(json!(null)), with(json!("shutting_down"))), (40, 20, 20), "{record:?}");
}
