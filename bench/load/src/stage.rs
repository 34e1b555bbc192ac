//! Who is on stage: devices and callers on a gateway, pairs of sockets on a relay.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::caller::{Caller, Calls};
use crate::device::{Device, Identity, answer_all};
use crate::error::Result;
use crate::gateway::{Gateway, SOURCES_PER_TOKEN};
use crate::relay::Relay;
use crate::socket;
use crate::specs::{APP_TOOLS, app_frame};

/// How many sockets are opened at the same moment.
const OPENING: usize = 16;

/// Devices that run in this process; each says at its end why it ended.
pub(crate) type Devices = JoinSet<String>;

/// The full name of a tool of the device that has this slug: each of the five in turn, by the device's number.
pub(crate) fn full_name(source: &str, number: usize) -> String {
    let tool = APP_TOOLS.iter().cycle().nth(number % APP_TOOLS.len()).copied().unwrap_or_default();
    format!("{source}__{tool}")
}

/// Joins `count` devices to the gateway and lets them answer; gives the full name of a tool of each.
pub(crate) async fn join_devices(
    gateway: &Gateway,
    name: &str,
    count: usize,
    distinct: bool,
    devices: &mut Devices,
) -> Result<Vec<String>> {
    let tokens = gateway.device_tokens(count).await?;
    let same: Utf8Bytes = app_frame(None).into();
    let joining = (0..count).map(|number| {
        let token = tokens.get(number / SOURCES_PER_TOKEN).cloned().unwrap_or_default();
        let identity = Identity { token, id: format!("{name}-{number}") };
        let frame = if distinct { app_frame(Some(number)).into() } else { same.clone() };
        async move { Device::join(&gateway.authority, &identity, frame).await }
    });
    let joined: Vec<Device> = stream::iter(joining).buffered(OPENING).try_collect().await?;
    let names = joined.iter().enumerate().map(|(number, device)| full_name(&device.source, number)).collect();
    for device in joined {
        devices.spawn(device.serve());
    }
    Ok(names)
}

/// Opens `count` callers on the gateway, with the owner's token.
pub(crate) async fn open_callers(gateway: &Gateway, count: usize, calls: &Arc<Calls>) -> Result<Vec<Caller>> {
    let opening = (0..count).map(|number| async move {
        let socket = socket::open(&gateway.authority, "/ws/chat", Some(&gateway.owner)).await?;
        Ok(Caller::new(socket, calls.clone(), number))
    });
    stream::iter(opening).buffered(OPENING).try_collect().await
}

/// Opens `count` callers on the relay, each with a device of its own.
pub(crate) async fn open_pairs(
    relay: &Relay,
    count: usize,
    calls: &Arc<Calls>,
    devices: &mut Devices,
) -> Result<Vec<Caller>> {
    let authority = relay.authority.as_str();
    let opening = (0..count).map(|number| async move {
        let device = socket::open(authority, &format!("/device/{number}"), None).await?;
        let caller = socket::open(authority, &format!("/caller/{number}"), None).await?;
        Ok((device, Caller::new(caller, calls.clone(), number)))
    });
    let pairs: Vec<_> = stream::iter(opening).buffered(OPENING).try_collect().await?;
    let mut callers = Vec::with_capacity(count);
    for (device, caller) in pairs {
        devices.spawn(answer_all(device));
        callers.push(caller);
    }
    Ok(callers)
}
