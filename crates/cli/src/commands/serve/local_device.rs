//! Connects this computer to its own gateway as a device, over a socket and with its own token like any other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use toolway_device::{CancellationToken, ConnectionStatus, Device, DeviceError, GatewayTrust};
use toolway_gateway::{AppState, Gateway};

use crate::host;

/// Device id, which keeps the source the same across restarts.
const DEVICE_ID: &str = "local";
/// Delay between attempts with a new token or key.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// The local device. Dropping it stops the device.
#[derive(Debug)]
pub(super) struct LocalDevice {
    status: watch::Receiver<ConnectionStatus>,
    stop: CancellationToken,
}

impl LocalDevice {
    /// Starts the device.
    pub(super) fn start(gateway: &Gateway) -> Self {
        let (sender, status) = watch::channel(ConnectionStatus::Connecting);
        let stop = CancellationToken::new();
        tokio::spawn(run_with_restarts(Arc::clone(gateway.app()), gateway.url(), sender, stop.clone()));
        Self { status, stop }
    }

    /// Returns the slug of its tools once the gateway has accepted them; `None` after the timeout.
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

/// Stays connected. Replaces a token that became invalid (restored database) or a key that changed (renewed
/// certificate), because this device needs no pairing.
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
            Err(why) => tracing::warn!("restarting the local device: {why}"),
        }
        if tokio::time::timeout(RESTART_DELAY, stop.cancelled()).await.is_ok() {
            return;
        }
    }
}

/// Runs until it is stopped (`Ok`), or until it needs a new token or key.
async fn run(
    app: &AppState,
    url: &str,
    status: &watch::Sender<ConnectionStatus>,
    stop: &CancellationToken,
) -> Result<(), String> {
    let token = app.access.issue_local_device().await.map_err(|error| error.to_string())?;
    // Detecting sensors blocks.
    let tools = tokio::task::spawn_blocking(host::tools).await.map_err(|error| error.to_string())?;
    let trust =
        app.tls.as_ref().map_or_else(GatewayTrust::default, |tls| GatewayTrust::Key(tls.served_pin()));
    let device = Device::builder(url)
        .token(token)
        .trust(trust)
        // The gateway may listen without TLS on a local address that is not loopback.
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
            tracing::error!("cannot share this computer's tools: {error}");
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
                    tracing::warn!(hint = stopped.hint(), "this computer's tools are no longer shared: {stopped}");
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
