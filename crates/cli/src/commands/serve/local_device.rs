//! This computer as a device of its own gateway: over a socket like any other, with a token of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use toolway_device::{CancellationToken, ConnectionStatus, Device, DeviceError, GatewayTrust};
use toolway_gateway::{AppState, Gateway};

use crate::host;

/// The id under which its source stays the same.
const DEVICE_ID: &str = "local";
/// Between two attempts with a new token or key.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Runs until it is dropped.
#[derive(Debug)]
pub(super) struct LocalDevice {
    status: watch::Receiver<ConnectionStatus>,
    stop: CancellationToken,
}

impl LocalDevice {
    /// Starts it.
    pub(super) fn start(gateway: &Gateway) -> Self {
        let (sender, status) = watch::channel(ConnectionStatus::Connecting);
        let stop = CancellationToken::new();
        tokio::spawn(run_with_restarts(Arc::clone(gateway.app()), gateway.url(), sender, stop.clone()));
        Self { status, stop }
    }

    /// The slug under which its tools are known, once the gateway has taken them; none where that takes too long.
    pub(super) async fn wait_for_source(&self, timeout: Duration) -> Option<String> {
        let mut status = self.status.clone();
        let connected = status.wait_for(
            |it| matches!(it, ConnectionStatus::Connected(connection) if connection.tools.is_some()),
        );
        match &*tokio::time::timeout(timeout, connected).await.ok()?.ok()? {
            ConnectionStatus::Connected(connection) => connection.source.clone(),
            _ => None,
        }
    }
}

impl Drop for LocalDevice {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Stays connected. A token that no longer counts (the database was restored) or a key that has changed (the
/// owner's certificate was renewed) is replaced, since this device needs nobody to let it in.
async fn run_with_restarts(
    app: Arc<AppState>,
    url: String,
    status: watch::Sender<ConnectionStatus>,
    stop: CancellationToken,
) {
    loop {
        let ended = tokio::select! {
            () = stop.cancelled() => return,
            ended = run(&app, &url, &status, &stop) => ended,
        };
        match ended {
            Ok(()) => return,
            Err(why) => tracing::warn!("this computer's own tools are away for a moment: {why}"),
        }
        if tokio::time::timeout(RESTART_DELAY, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

/// Runs until it is stopped for good (`Ok`) or needs a new token or key.
async fn run(
    app: &AppState,
    url: &str,
    status: &watch::Sender<ConnectionStatus>,
    stop: &CancellationToken,
) -> Result<(), String> {
    let token = app.access.issue_local_device().await.map_err(|error| error.to_string())?;
    // Looking for sensors blocks.
    let tools = tokio::task::spawn_blocking(host::tools).await.map_err(|error| error.to_string())?;
    let trust =
        app.tls.as_ref().map_or_else(GatewayTrust::default, |tls| GatewayTrust::Key(tls.served_pin()));
    let device = Device::builder(url)
        .token(token)
        .trust(trust)
        // The gateway may listen on an address of this computer that is not loopback, unencrypted.
        .insecure(true)
        .device_id(DEVICE_ID)
        .name(host::name())
        .platform(host::platform())
        .app_version(env!("CARGO_PKG_VERSION"))
        .tools(tools)
        .build();
    let device = match device {
        Ok(device) => device,
        Err(error) => {
            tracing::error!("this computer's own tools can't be offered: {error}");
            return Ok(());
        }
    };
    let mut changes = device.handle().status();
    let running = device.run(stop.clone());
    tokio::pin!(running);
    loop {
        tokio::select! {
            ended = &mut running => return match ended {
                Err(stopped @ (DeviceError::TokenRevoked | DeviceError::TokenExpired | DeviceError::TokenUnknown(_) | DeviceError::KeyChanged { .. })) => {
                    Err(stopped.to_string())
                }
                Err(stopped) => {
                    tracing::warn!(hint = stopped.hint(), "this computer's own tools are no longer offered: {stopped}");
                    Ok(())
                }
                Ok(()) => Ok(()),
            },
            changed = changes.changed() => if changed.is_ok() {
                status.send_replace(changes.borrow_and_update().clone());
            },
        }
    }
}
