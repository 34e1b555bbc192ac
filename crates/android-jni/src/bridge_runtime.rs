//! A running bridge: a device, the bridge with its tools, and a runtime for both. The app refers to it by a
//! number, so that requests for an ended bridge find nothing.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolway_android::bridge;
use toolway_android::{ProviderBridge, ProviderHost, ProviderNames};
use toolway_device::{BuildError, Device};

use crate::app_channel::{AppChannel, AppEvent};
use crate::settings::BridgeSettings;

/// Number of threads of the runtime. Blocking calls have their own threads.
const THREADS: usize = 2;
/// Maximum time for delivering the last events of a stopped bridge to the app, and for the remaining tasks
/// after that.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of the app's requests in flight.
const MAX_REQUESTS: usize = 16;

static RUNNING_BRIDGES: LazyLock<Mutex<HashMap<i64, Arc<RunningBridge>>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Reason why a bridge did not start.
#[derive(Debug, thiserror::Error)]
pub enum BridgeStartError {
    /// The device could not be created.
    #[error(transparent)]
    Device(#[from] BuildError),
    /// The system could not start a thread.
    #[error("no threads could be started: {0}")]
    Threads(#[from] std::io::Error),
}

/// A running bridge.
#[derive(Debug)]
pub struct RunningBridge(Mutex<Option<BridgeRuntime>>);

#[derive(Debug)]
struct BridgeRuntime {
    device: toolway_device::RunningDevice,
    bridge: Arc<ProviderBridge>,
    /// The app's requests in flight.
    requests: TaskTracker,
    stop: CancellationToken,
    app: AppChannel,
    /// Task that sends names to the app until the bridge ends.
    names_relay: JoinHandle<()>,
    runtime: Runtime,
}

impl RunningBridge {
    /// Starts a bridge and returns its number.
    ///
    /// # Errors
    /// [`BridgeStartError`]; then nothing runs.
    pub fn start(
        host: Arc<dyn ProviderHost>,
        shell: AppChannel,
        settings: BridgeSettings,
    ) -> Result<i64, BridgeStartError> {
        let BridgeSettings {
            url,
            token,
            trust,
            insecure,
            name,
            device_id,
            platform,
            app_version,
            names,
            options,
        } = settings;
        let mut device = Device::builder(url).token(token).trust(trust).insecure(insecure).name(name);
        if let Some(id) = device_id {
            device = device.device_id(id);
        }
        if let Some(platform) = platform {
            device = device.platform(platform);
        }
        if let Some(version) = app_version {
            device = device.app_version(version);
        }
        let device = device.build()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("toolway")
            .enable_all()
            .build()?;
        let (given, names_given) = watch::channel(None);
        let within = runtime.enter();
        let device = device.start();
        let bridge = Arc::new(ProviderBridge::start(bridge::BridgeDeps {
            host,
            device: device.handle().clone(),
            other_tools: Vec::new(),
            prompt: Arc::new(shell.clone()),
            names,
            save_names: Box::new(move |names: &ProviderNames| {
                given.send_replace(serde_json::to_string(names).ok());
                Ok(())
            }),
            options,
        }));
        tokio::spawn(relay_changes(device.handle().status(), shell.clone(), AppEvent::Status));
        tokio::spawn(relay_changes(bridge.overview(), shell.clone(), AppEvent::Overview));
        let names_told = tokio::spawn(relay_names(names_given, shell.clone()));
        drop(within);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (asked, stop) = (TaskTracker::new(), CancellationToken::new());
        let parts = BridgeRuntime {
            device,
            bridge,
            requests: asked,
            stop,
            app: shell,
            names_relay: names_told,
            runtime,
        };
        RUNNING_BRIDGES.lock().insert(number, Arc::new(Self(Mutex::new(Some(parts)))));
        Ok(number)
    }

    /// Stops a bridge, and waits until the gateway is informed and the app has the last names, which it must
    /// store. Takes at most four seconds if neither responds. Returns true if the bridge was running.
    pub fn stop(number: i64) -> bool {
        let Some(running) = RUNNING_BRIDGES.lock().remove(&number) else { return false };
        let Some(parts) = running.0.lock().take() else { return false };
        let BridgeRuntime {
            device,
            bridge,
            requests: asked,
            stop,
            app: shell,
            names_relay: names_told,
            runtime,
        } = parts;
        stop.cancel();
        asked.close();
        runtime.block_on(async {
            asked.wait().await;
            if let Some(bridge) = Arc::into_inner(bridge) {
                bridge.stop().await;
            }
            // The app has already got the reason if the device stopped by itself.
            let _ = device.stop().await;
            let told = async {
                // A panic has been logged.
                let _ = names_told.await;
                shell.flush().await;
            };
            if tokio::time::timeout(SHUTDOWN_TIMEOUT, told).await.is_err() {
                tracing::warn!("the app was too slow to get all events before the bridge stopped");
            }
        });
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        true
    }

    /// Lists the tools of all apps again. Returns true if the bridge runs.
    pub fn rescan(number: i64) -> bool {
        Self::with_bridge(number, |parts| parts.bridge.rescan()).is_some()
    }

    /// Takes the user to an app that requires authorization. Returns true if this has started: false if no
    /// bridge runs, or if there are more requests in flight than a user would make.
    pub fn authorize(number: i64, authority: String) -> bool {
        let begun = Self::with_bridge(number, |parts| {
            if parts.requests.len() >= MAX_REQUESTS {
                return false;
            }
            let (bridge, stop) = (Arc::clone(&parts.bridge), parts.stop.clone());
            let asking = async move {
                tokio::select! {
                    _ = bridge.authorize(&authority) => {}
                    () = stop.cancelled() => {}
                }
            };
            parts.requests.spawn_on(asking, parts.runtime.handle());
            true
        });
        begun.unwrap_or(false)
    }

    /// Runs a function with a running bridge; returns `None` if it does not run.
    fn with_bridge<T>(number: i64, run: impl FnOnce(&BridgeRuntime) -> T) -> Option<T> {
        let running = RUNNING_BRIDGES.lock().get(&number).cloned()?;
        running.0.lock().as_ref().map(run)
    }
}

/// Sends each change to the app, or only the last if the app is slower.
async fn relay_changes<T: Clone>(
    mut changes: watch::Receiver<T>,
    shell: AppChannel,
    event: impl Fn(T) -> AppEvent,
) {
    loop {
        let now = changes.borrow_and_update().clone();
        shell.send(event(now)).await;
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Sends changes of names, of which there may be none yet.
async fn relay_names(mut given: watch::Receiver<Option<String>>, shell: AppChannel) {
    while given.changed().await.is_ok() {
        let names = given.borrow_and_update().clone();
        if let Some(names) = names {
            shell.send(AppEvent::Names(names)).await;
        }
    }
}
