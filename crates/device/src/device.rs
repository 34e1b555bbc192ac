//! The device itself: how it is set up, started and stopped.

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

/// Calls that run beside each other where nothing else is said.
const DEFAULT_CONCURRENCY: usize = 64;

/// Why a device could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The gateway's address.
    #[error(transparent)]
    Address(#[from] BadGatewayUrl),
    /// No token was given.
    #[error("a device needs a token; pairing gives one")]
    MissingToken,
    /// Plain HTTP to another computer.
    #[error("{0} is another computer and not reached over TLS: everyone on the way could read the token")]
    Insecure(GatewayUrl),
    /// A key is expected of a plain address.
    #[error("{0} is not reached over TLS, so the key that the gateway was paired with can't be checked")]
    KeyWithoutTls(GatewayUrl),
    /// TLS could not be set up.
    #[error(transparent)]
    Trust(#[from] BadGatewayTrust),
    /// A tool.
    #[error(transparent)]
    Tool(#[from] BadTool),
}

/// Sets up a [`Device`].
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
    /// The token that pairing gave.
    #[must_use]
    pub fn token(mut self, token: impl Into<SecretString>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// How the gateway proves over TLS that it is the one. Without it: by name, through the certificate
    /// authorities that this computer knows.
    #[must_use]
    pub fn trust(mut self, trust: GatewayTrust) -> Self {
        self.trust = trust;
        self
    }

    /// Allows plain HTTP to another computer. Everyone on the way can then read the token.
    #[must_use]
    pub fn insecure(mut self, allowed: bool) -> Self {
        self.insecure = allowed;
        self
    }

    /// An id that stays the same over restarts of the program.
    #[must_use]
    pub fn device_id(mut self, id: impl Into<String>) -> Self {
        self.metadata.device_id = Some(id.into());
        self
    }

    /// A name for people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.metadata.name = Some(name.into());
        self
    }

    /// The operating system and its version.
    #[must_use]
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.metadata.platform = Some(platform.into());
        self
    }

    /// The version of this program.
    #[must_use]
    pub fn app_version(mut self, version: impl Into<String>) -> Self {
        self.metadata.app_version = Some(version.into());
        self
    }

    /// Offers a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Offers several.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// How many calls run beside each other; further ones wait their turn. 64 where not said.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls;
        self
    }

    /// How long to wait between tries to connect.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// How long a cancelled tool has to end by itself before it is dropped. One second where not said.
    #[must_use]
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Checks everything and makes the device. Nothing is connected yet.
    ///
    /// # Errors
    /// [`BuildError`] says what does not fit.
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
    /// A device of the gateway at this address: `https://host[:port]`, or `http://` for this computer.
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

    /// Its tools and its status, to be looked at and changed while it runs.
    #[must_use]
    pub fn handle(&self) -> DeviceHandle {
        self.handle.clone()
    }

    /// Connects, stays connected and runs calls until `stop` is cancelled.
    ///
    /// # Errors
    /// [`Stopped`] where no further try would help: the token was revoked, say. Faults of the network are
    /// not among them; those are tried again for ever.
    pub async fn run(self, stop: CancellationToken) -> Result<(), DeviceError> {
        supervise(&self.handle.0, &stop).await
    }

    /// The same in a task of its own. Must be called within a tokio runtime.
    #[must_use = "dropping it stops the device"]
    pub fn start(self) -> RunningDevice {
        let stop = CancellationToken::new();
        let handle = self.handle();
        let task = tokio::spawn(self.run(stop.clone()));
        RunningDevice { handle, task, stop: stop.drop_guard() }
    }
}

/// A running device. Dropping it stops the device without waiting for it.
#[derive(Debug)]
pub struct RunningDevice {
    handle: DeviceHandle,
    task: JoinHandle<Result<(), DeviceError>>,
    stop: DropGuard,
}

impl RunningDevice {
    /// Its tools and its status.
    #[must_use]
    pub fn handle(&self) -> &DeviceHandle {
        &self.handle
    }

    /// Waits until it stops by itself.
    ///
    /// # Errors
    /// Why it stopped.
    pub async fn wait(self) -> Result<(), DeviceError> {
        let Self { task, stop, .. } = self;
        let result = task.await;
        drop(stop);
        result.unwrap_or_else(|error| Err(DeviceError::Failed(error.to_string())))
    }

    /// Stops it: running calls are cancelled, results that are there already are sent, and the gateway is
    /// told goodbye. Takes no longer than the grace of cancelled tools and two seconds.
    ///
    /// # Errors
    /// Why it had already stopped by itself.
    pub async fn stop(self) -> Result<(), DeviceError> {
        let Self { task, stop, .. } = self;
        stop.disarm().cancel();
        task.await.unwrap_or_else(|error| Err(DeviceError::Failed(error.to_string())))
    }
}

/// Looks at a device and changes its tools. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DeviceHandle(Arc<DeviceState>);

impl DeviceHandle {
    /// What the connection is doing, and each change of it.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ConnectionStatus> {
        self.0.status.subscribe()
    }

    /// The tools that it offers at this moment, in the order in which they were given.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        self.0.current_tools().tools().collect()
    }

    /// Offers these tools and no others. Running calls go on.
    ///
    /// # Errors
    /// [`BadTool`]; then nothing has changed.
    pub fn set_tools(&self, tools: Vec<Tool>) -> Result<(), BadTool> {
        self.update_tools(|_| tools)
    }

    /// Offers one more tool, or another of the same name.
    ///
    /// # Errors
    /// [`BadTool`]; then nothing has changed.
    pub fn add_tool(&self, tool: Tool) -> Result<(), BadTool> {
        self.update_tools(|current| {
            let others = current.tools().filter(|other| other.name() != tool.name());
            others.chain([tool.clone()]).collect()
        })
    }

    /// Takes tools back. Names that are not offered are ignored. A gateway that speaks version 1 keeps them
    /// listed until the next connection.
    ///
    /// # Errors
    /// Never in practice: what is left was accepted before.
    pub fn remove_tools(&self, names: &[&str]) -> Result<(), BadTool> {
        self.update_tools(|current| current.tools().filter(|tool| !names.contains(&tool.name())).collect())
    }

    /// Says which apps offer tools through this device, and what became of each, in the place of what was said
    /// before: for the gateway's owner to read. It is said after the tools at every connection, and whenever it
    /// changes; a gateway that speaks version 1 is not told. What is longer than gateways accept is cut, and told
    /// in a note or a log.
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
