//! Opens connections: devices and callers on a gateway, pairs of sockets on a relay.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::caller::{BenchCaller, CallTemplate};
use crate::device::{BenchDevice, BenchDeviceIdentity, echo_frames};
use crate::error::Result;
use crate::gateway::{BenchGateway, SOURCES_PER_TOKEN};
use crate::relay::RelayProcess;
use crate::socket;
use crate::tool_specs::{APP_TOOLS, app_frame};

/// Number of sockets that are opened at the same time.
const OPEN_CONCURRENCY: usize = 16;

/// Devices that run in this process. Each returns the reason why it ended.
pub(crate) type DeviceTasks = JoinSet<String>;

/// Returns the full name of a tool of the device with this slug: one of the five in turn, by the device's
/// number.
pub(crate) fn full_name(source: &str, number: usize) -> String {
    let tool = APP_TOOLS.iter().cycle().nth(number % APP_TOOLS.len()).copied().unwrap_or_default();
    format!("{source}__{tool}")
}

/// Connects `count` devices to the gateway and lets them answer. Returns the full name of a tool of each.
pub(crate) async fn join_devices(
    gateway: &BenchGateway,
    name: &str,
    count: usize,
    distinct: bool,
    devices: &mut DeviceTasks,
) -> Result<Vec<String>> {
    let tokens = gateway.create_device_tokens(count).await?;
    let same: Utf8Bytes = app_frame(None).into();
    let joining = (0..count).map(|number| {
        let token = tokens.get(number / SOURCES_PER_TOKEN).cloned().unwrap_or_default();
        let identity = BenchDeviceIdentity { token, id: format!("{name}-{number}") };
        let frame = if distinct { app_frame(Some(number)).into() } else { same.clone() };
        async move { BenchDevice::join(&gateway.authority, &identity, frame).await }
    });
    let joined: Vec<BenchDevice> = stream::iter(joining).buffered(OPEN_CONCURRENCY).try_collect().await?;
    let names = joined.iter().enumerate().map(|(number, device)| full_name(&device.source, number)).collect();
    for device in joined {
        devices.spawn(device.serve());
    }
    Ok(names)
}

/// Opens `count` callers on the gateway, with the owner's token.
pub(crate) async fn open_callers(
    gateway: &BenchGateway,
    count: usize,
    calls: &Arc<CallTemplate>,
) -> Result<Vec<BenchCaller>> {
    let opening = (0..count).map(|number| async move {
        let socket = socket::open(&gateway.authority, "/ws/chat", Some(&gateway.owner_token)).await?;
        Ok(BenchCaller::new(socket, calls.clone(), number))
    });
    stream::iter(opening).buffered(OPEN_CONCURRENCY).try_collect().await
}

/// Opens `count` callers on the relay, each with its own device.
pub(crate) async fn open_pairs(
    relay: &RelayProcess,
    count: usize,
    calls: &Arc<CallTemplate>,
    devices: &mut DeviceTasks,
) -> Result<Vec<BenchCaller>> {
    let authority = relay.authority.as_str();
    let opening = (0..count).map(|number| async move {
        let device = socket::open(authority, &format!("/device/{number}"), None).await?;
        let caller = socket::open(authority, &format!("/caller/{number}"), None).await?;
        Ok((device, BenchCaller::new(caller, calls.clone(), number)))
    });
    let pairs: Vec<_> = stream::iter(opening).buffered(OPEN_CONCURRENCY).try_collect().await?;
    let mut callers = Vec::with_capacity(count);
    for (device, caller) in pairs {
        devices.spawn(echo_frames(device));
        callers.push(caller);
    }
    Ok(callers)
}
