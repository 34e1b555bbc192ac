//! Devices that use the SDK, in the process of the test.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolway_device::{Backoff, ConnectionStatus, Device, DeviceBuilder, RunningDevice, Tool};

use crate::runs::RunLog;
use crate::with_timeout;

/// Argument of all tools here.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub struct NumberArgs {
    /// Number that identifies a call.
    pub n: u64,
}

/// Creates a builder for a device with this name, which reconnects quickly.
#[must_use]
pub fn builder(url: &str, token: &str, name: &str) -> DeviceBuilder {
    Device::builder(url)
        .token(token.to_owned())
        .device_id(format!("id-of-{name}"))
        .name(name)
        .concurrency(1000)
        .backoff(Backoff { shortest: Duration::from_millis(20), longest: Duration::from_millis(200) })
}

/// Starts a device and waits until the gateway has registered its tools.
pub async fn start(builder: DeviceBuilder) -> RunningDevice {
    let running = builder.build().unwrap().start();
    wait_online(&running).await;
    running
}

/// Waits until the gateway has registered the device's tools.
pub async fn wait_online(running: &RunningDevice) {
    let mut status = running.handle().status();
    let taken = |status: &ConnectionStatus| match status {
        ConnectionStatus::Connected(connection) => connection.tools.is_some(),
        ConnectionStatus::Stopped(why) => panic!("the device stopped: {why:?}"),
        _ => false,
    };
    with_timeout("a connected device", status.wait_for(taken)).await.unwrap();
}

/// Creates a tool that returns its argument.
#[must_use]
pub fn echo_tool(runs: &RunLog) -> Tool {
    let runs = runs.clone();
    Tool::typed("echo", "Gives its number back", move |args: NumberArgs, cx| {
        runs.record_run(cx.call_id(), args.n);
        async move { Ok(serde_json::json!({"n": args.n})) }
    })
}

/// Creates a tool that never answers.
#[must_use]
pub fn hanging_tool(runs: &RunLog) -> Tool {
    let runs = runs.clone();
    Tool::typed("hold", "Never answers", move |args: NumberArgs, cx| {
        runs.record_run(cx.call_id(), args.n);
        async move {
            cx.cancelled().await;
            Ok(())
        }
    })
    .timeout(Duration::from_secs(600))
}
