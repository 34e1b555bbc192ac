//! The device: configuration, start and stop.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use secrecy::SecretString;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_wire::client_message::app_providers::AppProvider;

use crate::address::{BadGatewayUrl, GatewayUrl};
use crate::app_providers::truncate_to_limits;
use crate::backoff::Backoff;
use crate::call_table::{CallTable, ResultCacheBounds};
use crate::device_state::{DeviceMetadata, DeviceState};
use crate::error::DeviceError;
use crate::execution::ConcurrencyLimiter;
use crate::status::ConnectionStatus;
use crate::supervisor::supervise;
use crate::tool::Tool;
use crate::tool::table::{BadTool, ToolTable};
use crate::transport::GatewayRoute;
use crate::trust::{BadGatewayTrust, GatewayTrust, rustls_config};

/// Default number of concurrent calls.
const DEFAULT_CONCURRENCY: usize = 64;

/// Reason why a device cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The gateway's address is invalid.
    #[error(transparent)]
    Address(#[from] BadGatewayUrl),
    /// The token is missing.
    #[error("the token is missing; pair the device to get one")]
    MissingToken,
    /// The address is another computer over plain HTTP.
    #[error("{0} is not this computer and does not use TLS, so others on the network could read the token")]
    Insecure(GatewayUrl),
    /// A key is expected, but the address uses plain HTTP.
    #[error("{0} does not use TLS, so the device cannot check the gateway's key; use https://")]
    KeyWithoutTls(GatewayUrl),
    /// The TLS configuration is invalid.
    #[error(transparent)]
    Trust(#[from] BadGatewayTrust),
    /// A tool is invalid.
    #[error(transparent)]
    Tool(#[from] BadTool),
}

/// Builder of a [`Device`].
#[derive(Debug)]
pub struct DeviceBuilder {
    url: String,
    token: Option<SecretString>,
    trust: GatewayTrust,
    insecure: bool,
    metadata: DeviceMetadata,
    tools: Vec<Tool>,
    concurrency: usize,
    backoff: Backoff,
    grace: Duration,
}

impl DeviceBuilder {
    /// Sets the token received from pairing.
    #[must_use]
    pub fn token(mut self, token: impl Into<SecretString>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets how the gateway is verified over TLS. Default: by its name and this computer's certificate
    /// authorities.
    #[must_use]
    pub fn trust(mut self, trust: GatewayTrust) -> Self {
        self.trust = trust;
        self
    }

    /// Allows plain HTTP to another computer. Others on the network can then read the token.
    #[must_use]
    pub fn insecure(mut self, allowed: bool) -> Self {
        self.insecure = allowed;
        self
    }

    /// Sets an id that stays the same across restarts of the program.
    #[must_use]
    pub fn device_id(mut self, id: impl Into<String>) -> Self {
        self.metadata.device_id = Some(id.into());
        self
    }

    /// Sets the display name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.metadata.name = Some(name.into());
        self
    }

    /// Sets the operating system and its version.
    #[must_use]
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.metadata.platform = Some(platform.into());
        self
    }

    /// Sets the version of this program.
    #[must_use]
    pub fn app_version(mut self, version: impl Into<String>) -> Self {
        self.metadata.app_version = Some(version.into());
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds several tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Sets the number of concurrent calls; further calls are queued. Default: 64.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls;
        self
    }

    /// Sets the delay between connection attempts.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets the time for a cancelled tool to end by itself before it is dropped. Default: one second.
    #[must_use]
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Validates the configuration and creates the device, without connecting.
    ///
    /// # Errors
    /// [`BuildError`] describes the invalid part.
    pub fn build(self) -> Result<Device, BuildError> {
        let url: GatewayUrl = self.url.parse()?;
        let token = self.token.ok_or(BuildError::MissingToken)?;
        let tls = if url.is_secure() {
            Some(Arc::new(rustls_config(&self.trust)?))
        } else if !matches!(self.trust, GatewayTrust::Authorities(_)) {
            return Err(BuildError::KeyWithoutTls(url));
        } else if !url.is_loopback() && !self.insecure {
            return Err(BuildError::Insecure(url));
        } else {
            None
        };
        let shared = DeviceState {
            route: GatewayRoute { url, tls },
            token,
            metadata: self.metadata,
            backoff: self.backoff,
            grace: self.grace,
            calls: Arc::new(CallTable::new(ResultCacheBounds::default())),
            limiter: Arc::new(ConcurrencyLimiter::new(self.concurrency)),
            tools: watch::Sender::new(Arc::new(ToolTable::new(self.tools)?)),
            app_providers: Mutex::default(),
            changed: Notify::new(),
            status: watch::Sender::new(ConnectionStatus::Connecting),
        };
        Ok(Device { handle: DeviceHandle(Arc::new(shared)) })
    }
}

/// A program that offers tools to a gateway.
#[derive(Debug)]
pub struct Device {
    handle: DeviceHandle,
}

impl Device {
    /// Creates a builder for a device of the gateway at this address: `https://host[:port]`, or `http://` for
    /// this computer.
    pub fn builder(url: impl Into<String>) -> DeviceBuilder {
        DeviceBuilder {
            url: url.into(),
            token: None,
            trust: GatewayTrust::default(),
            insecure: false,
            metadata: DeviceMetadata::default(),
            tools: Vec::new(),
            concurrency: DEFAULT_CONCURRENCY,
            backoff: Backoff::default(),
            grace: Duration::from_secs(1),
        }
    }

    /// Handle to observe the device and to change its tools while it runs.
    #[must_use]
    pub fn handle(&self) -> DeviceHandle {
        self.handle.clone()
    }

    /// Connects, reconnects and runs calls until `stop` is cancelled.
    ///
    /// # Errors
    /// [`DeviceError`] if retrying cannot help, for example because the token was revoked. Network errors are
    /// retried forever and never returned.
    pub async fn run(self, stop: CancellationToken) -> Result<(), DeviceError> {
        supervise(&self.handle.0, &stop).await
    }

    /// Runs the device in its own task. Must be called within a tokio runtime.
    #[must_use = "dropping it stops the device"]
    pub fn start(self) -> RunningDevice {
        let stop = CancellationToken::new();
        let handle = self.handle();
        let task = tokio::spawn(self.run(stop.clone()));
        RunningDevice { handle, task, stop: stop.drop_guard() }
    }
}

/// A running device. Dropping it stops the device without waiting.
#[derive(Debug)]
pub struct RunningDevice {
    handle: DeviceHandle,
    task: JoinHandle<Result<(), DeviceError>>,
    stop: DropGuard,
}

impl RunningDevice {
    /// Handle to observe the device and to change its tools.
    #[must_use]
    pub fn handle(&self) -> &DeviceHandle {
        &self.handle
    }

    /// Waits until the device stops by itself.
    ///
    /// # Errors
    /// Returns the reason why it stopped.
    pub async fn wait(self) -> Result<(), DeviceError> {
        let Self { task, stop, .. } = self;
        let result = task.await;
        drop(stop);
        result.unwrap_or_else(|error| Err(DeviceError::Failed(error.to_string())))
    }

    /// Stops the device: cancels running calls, sends finished results, and closes the connection. Takes at
    /// most the grace period of cancelled tools plus two seconds.
    ///
    /// # Errors
    /// Returns the reason if the device had already stopped by itself.
    pub async fn stop(self) -> Result<(), DeviceError> {
        let Self { task, stop, .. } = self;
        stop.disarm().cancel();
        task.await.unwrap_or_else(|error| Err(DeviceError::Failed(error.to_string())))
    }
}

/// Handle to observe a device and to change its tools. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeviceHandle(Arc<DeviceState>);

impl DeviceHandle {
    /// Current connection status, with notification of changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ConnectionStatus> {
        self.0.status.subscribe()
    }

    /// Tools currently offered, in the order given.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        self.0.current_tools().tools().collect()
    }

    /// Replaces all tools. Running calls continue.
    ///
    /// # Errors
    /// Returns [`BadTool`] and changes nothing.
    pub fn set_tools(&self, tools: Vec<Tool>) -> Result<(), BadTool> {
        self.update_tools(|_| tools)
    }

    /// Adds a tool, replacing one with the same name.
    ///
    /// # Errors
    /// Returns [`BadTool`] and changes nothing.
    pub fn add_tool(&self, tool: Tool) -> Result<(), BadTool> {
        self.update_tools(|current| {
            let others = current.tools().filter(|other| other.name() != tool.name());
            others.chain([tool.clone()]).collect()
        })
    }

    /// Removes tools. Ignores unknown names. A version 1 gateway keeps listing them until the next
    /// connection.
    ///
    /// # Errors
    /// None in practice: the remaining tools were accepted before.
    pub fn remove_tools(&self, names: &[&str]) -> Result<(), BadTool> {
        self.update_tools(|current| current.tools().filter(|tool| !names.contains(&tool.name())).collect())
    }

    /// Replaces the report on apps that offer tools through this device; the gateway's owner can read it. It
    /// is sent after the tools on every connection, and on every change. A version 1 gateway does not receive
    /// it. Oversized content is shortened; a note or the log says so.
    pub fn set_app_providers(&self, providers: Vec<AppProvider>) {
        let providers = truncate_to_limits(providers);
        {
            let mut current = self.0.app_providers.lock();
            if current.as_deref() == Some(&*providers) {
                return;
            }
            *current = Some(providers.into());
        }
        self.0.changed.notify_one();
    }

    fn update_tools(&self, to: impl FnOnce(&ToolTable) -> Vec<Tool>) -> Result<(), BadTool> {
        let mut result = Ok(());
        self.0.tools.send_if_modified(|table| match ToolTable::new(to(table)) {
            Ok(changed) => {
                *table = Arc::new(changed);
                true
            }
            Err(error) => {
                result = Err(error);
                false
            }
        });
        if result.is_ok() {
            self.0.changed.notify_one();
        }
        result
    }
}
