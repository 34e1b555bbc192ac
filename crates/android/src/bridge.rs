//! Keeps a device's tools up to date with the phone's app providers: scans at the start, watches for added,
//! changed and removed packages, scans only those again, and replaces the device's list as a whole.

mod list;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_device::{ConnectionStatus, DeviceHandle, Tool};

use crate::authorization::{
    AuthorizationOutcome, AuthorizationPrompt, ProviderAuthorizer, authorization_request,
};
use crate::execution::{ProviderObservation, ProviderToolExecutor};
use crate::failure::AuthorizationRequired;
use crate::host::{ChangedPackages, HostError, PackageChanges, ProviderHost};
use crate::naming::ProviderNames;
use crate::options::BridgeOptions;
use crate::provider::{ProviderState, ToolProvider};
use crate::provider_client::ProviderClient;
use crate::scan::{KnownProviderInfo, ProviderScan, ScanError, ScanRequest};
use list::ProviderList;

/// Maximum number of unhandled observations from calls.
const OBSERVATION_CAPACITY: usize = 64;
/// Delays before the next attempt after a failed scan: the first and the maximum.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Time for which ready providers wait for the others before they are offered.
const SETTLE_TIME: Duration = Duration::from_millis(300);

/// Function that stores the names for the next start, or returns the reason why it can't.
pub type SaveNames = Box<dyn Fn(&ProviderNames) -> Result<(), String> + Send + Sync>;

/// Dependencies of a bridge.
pub struct BridgeDeps {
    /// Access to the apps.
    pub host: Arc<dyn ProviderHost>,
    /// Device that offers the tools.
    pub device: DeviceHandle,
    /// Other tools of the device.
    pub other_tools: Vec<Tool>,
    /// Prompt for the phone's user.
    pub prompt: Arc<dyn AuthorizationPrompt>,
    /// Names that were given before.
    pub names: ProviderNames,
    /// Called whenever a name was given.
    pub save_names: SaveNames,
    /// Options of the bridge.
    pub options: BridgeOptions,
}

/// Current state of the bridge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BridgeOverview {
    /// All providers, sorted by authority.
    pub providers: Arc<[ToolProvider]>,
    /// Reason why the last scan failed, if it did.
    pub fault: Option<ScanError>,
    /// Number of changes of this state.
    pub changes: u64,
}

/// A running bridge. Dropping it ends it; the device keeps its tools.
#[derive(Debug)]
pub struct ProviderBridge {
    overview: watch::Receiver<BridgeOverview>,
    changes: PackageChanges,
    authorizations: ProviderAuthorizer,
    options: BridgeOptions,
    task: JoinHandle<()>,
    stop: DropGuard,
}

impl ProviderBridge {
    /// Starts a bridge in its own task. Must be called within a tokio runtime.
    #[must_use = "dropping it ends it"]
    pub fn start(parts: BridgeDeps) -> Self {
        let BridgeDeps { host, device, other_tools: others, prompt, names, save_names: keep_names, options } =
            parts;
        let reach = ProviderClient::new(host);
        let authorizations = ProviderAuthorizer::new(reach.clone(), prompt);
        let (seen, seen_by_calls) = mpsc::channel(OBSERVATION_CAPACITY);
        let executor = ProviderToolExecutor::new(reach.clone(), authorizations.clone(), options, seen);
        let (overview, watched) = watch::channel(BridgeOverview::default());
        let changes = PackageChanges::default();
        let stop = CancellationToken::new();
        let task_state = BridgeTask {
            client: reach,
            list: ProviderList::new(others, names, executor),
            device,
            save_names: keep_names,
            changes: changes.clone(),
            authorizations: authorizations.clone(),
            options,
            overview,
            observations: seen_by_calls,
            scan: ProviderScan::default(),
            last_scanned: HashMap::new(),
            next_retry: None,
            retry_delay: RETRY_DELAYS.0,
            watching: false,
        };
        let task = tokio::spawn(task_state.run(stop.clone()));
        Self { overview: watched, changes, authorizations, options, task, stop: stop.drop_guard() }
    }

    /// Returns the state and its changes.
    #[must_use]
    pub fn overview(&self) -> watch::Receiver<BridgeOverview> {
        self.overview.clone()
    }

    /// Lists the tools of all apps again.
    pub fn rescan(&self) {
        self.changes.add_everything();
    }

    /// Returns the input for package changes that come from outside of [`ProviderHost::watch`].
    #[must_use]
    pub fn changes(&self) -> PackageChanges {
        self.changes.clone()
    }

    /// Takes the user to an app that requires authorization, and lists its tools again afterwards. Returns
    /// `None` if there is no such provider, or if it requires no authorization.
    pub async fn authorize(&self, authority: &str) -> Option<AuthorizationOutcome> {
        let provider = self
            .overview
            .borrow()
            .providers
            .iter()
            .find(|provider| provider.authority == authority)
            .cloned()?;
        let request = authorization_request(&provider, None, &authorization_required(&provider)?);
        let since = Instant::now();
        let asked = self.authorizations.ask(&request, since, self.options.consent_timeout).await;
        if asked == AuthorizationOutcome::Returned {
            self.changes.add_package(provider.package);
        }
        Some(asked)
    }

    /// Ends the bridge and waits until it has ended. The device keeps its tools.
    pub async fn stop(self) {
        self.stop.disarm().cancel();
        // A panic has been logged.
        let _ = self.task.await;
    }
}

/// Returns the tools that the gateway rejected with the reasons; `None` if the gateway has not answered yet.
fn rejected_tools(status: &ConnectionStatus) -> Option<BTreeMap<String, String>> {
    let ConnectionStatus::Connected(connection) = status else { return None };
    let registered = connection.tools.as_ref()?;
    Some(registered.rejected.iter().map(|it| (it.name.clone(), it.reason.clone())).collect())
}

/// Waits until a moment, or forever if there is none.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Returns the authorization that a provider requires, if any.
fn authorization_required(provider: &ToolProvider) -> Option<AuthorizationRequired> {
    match &provider.state {
        ProviderState::AuthorizationRequired { message, hint, intent } => Some(AuthorizationRequired {
            message: message.clone(),
            hint: hint.clone(),
            intent: intent.clone(),
        }),
        _ => None,
    }
}

/// Returns a channel with the time of each new connection of the device; it closes with the device. The
/// status also changes whenever tools are registered, which is no reason for a new scan.
fn connection_times(mut status: watch::Receiver<ConnectionStatus>) -> mpsc::Receiver<Instant> {
    let (told, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        let is_connected = |status: &ConnectionStatus| matches!(status, ConnectionStatus::Connected(_));
        let mut connected = is_connected(&status.borrow_and_update());
        loop {
            tokio::select! {
                changed = status.changed() => if changed.is_err() { return },
                () = told.closed() => return,
            }
            let before = std::mem::replace(&mut connected, is_connected(&status.borrow_and_update()));
            if connected && !before {
                // A pending message already stands for this one.
                let _ = told.try_send(Instant::now());
            }
        }
    });
    connections
}

/// State of the bridge's task.
struct BridgeTask {
    client: ProviderClient,
    list: ProviderList,
    device: DeviceHandle,
    save_names: SaveNames,
    changes: PackageChanges,
    authorizations: ProviderAuthorizer,
    options: BridgeOptions,
    overview: watch::Sender<BridgeOverview>,
    observations: mpsc::Receiver<ProviderObservation>,
    /// The running scan.
    scan: ProviderScan,
    /// Time of the last scan of each package.
    last_scanned: HashMap<String, Instant>,
    /// Time of the next attempt after a failed scan, and the delay after that.
    next_retry: Option<Instant>,
    retry_delay: Duration,
    watching: bool,
}

impl BridgeTask {
    async fn run(mut self, stop: CancellationToken) {
        let changes = self.changes.clone();
        tokio::select! {
            () = self.event_loop() => {}
            () = stop.cancelled() => {}
        }
        changes.close();
    }

    async fn event_loop(&mut self) {
        let mut connections = connection_times(self.device.status());
        let mut status = self.device.status();
        self.start_scan(ChangedPackages::Everything).await;
        loop {
            tokio::select! {
                Some(batch) = self.scan.batch(SETTLE_TIME), if !self.scan.is_finished() => self.accept_batch(batch).await,
                () = self.changes.wait_for_change() => {
                    tokio::time::sleep(self.options.settle).await;
                    if let Some(changed) = self.changes.take() {
                        self.start_scan(changed).await;
                    }
                }
                Some(seen) = self.observations.recv() => self.handle_observation(seen).await,
                connection = connections.recv() => match connection {
                    Some(since) => self.rescan_unanswered(since).await,
                    // The device has been dropped.
                    None => return,
                },
                Ok(()) = status.changed() => {
                    let rejected = rejected_tools(&status.borrow_and_update());
                    if self.list.set_rejected(rejected) {
                        self.device.set_app_providers(self.list.offered_tools().1);
                    }
                }
                () = wait_until(self.next_retry), if self.next_retry.is_some() => self.start_scan(ChangedPackages::Everything).await,
            }
        }
    }

    /// Subscribes to package changes. If that fails, the next scan tries again.
    async fn watch(&mut self) {
        let changes = self.changes.clone();
        let watching =
            self.client.ask_system(self.options.list_timeout, move |host| host.watch(changes)).await;
        let failed = match watching {
            Ok(Ok(())) => {
                self.watching = true;
                return;
            }
            Ok(Err(HostError { message, .. })) => message,
            Err(missed) => missed.to_string(),
        };
        tracing::warn!(%failed, "cannot watch for changes of packages");
    }

    /// Scans the packages that may have changed. Running requests to others continue.
    async fn start_scan(&mut self, changed: ChangedPackages) {
        if !self.watching {
            self.watch().await;
        }
        let (packages, known) = match changed {
            ChangedPackages::Everything => (None, self.list.known()),
            // The self-description of a changed package may have changed too.
            ChangedPackages::Packages(packages) => (Some(packages), KnownProviderInfo::new()),
        };
        let wanted = ScanRequest { packages: packages.clone(), known, timeout: self.options.list_timeout };
        let found = match self.scan.ask_for_tools(&self.client, wanted).await {
            Ok(found) => found,
            Err(fault) => return self.handle_scan_failure(fault, packages.is_none()),
        };
        (self.next_retry, self.retry_delay) = (None, RETRY_DELAYS.0);
        let now = Instant::now();
        self.last_scanned
            .retain(|package, _| packages.as_ref().is_some_and(|asked| !asked.contains(package)));
        self.last_scanned.extend(found.packages.iter().map(|package| (package.clone(), now)));
        self.list.assign_names(&found.claims, &self.save_names);
        let was = self.list.providers().len();
        self.list.retain(|package| {
            found.packages.contains(package)
                || packages.as_ref().is_some_and(|asked| !asked.contains(package))
        });
        if self.list.providers().len() != was || found.packages.is_empty() {
            self.publish(None);
        }
    }

    /// Handles a failed scan and schedules another attempt. If all packages were to be scanned, marks all
    /// providers as unavailable for now.
    fn handle_scan_failure(&mut self, fault: ScanError, all: bool) {
        if all {
            self.list.mark_all_unavailable(&fault.to_string());
            self.publish(Some(fault));
        }
        self.next_retry = Instant::now().checked_add(self.retry_delay);
        self.retry_delay = (self.retry_delay * 2).min(RETRY_DELAYS.1);
    }

    /// Stores the scanned providers of some packages.
    async fn accept_batch(&mut self, batch: Vec<ToolProvider>) {
        let before = self.list.authorities_to_allow();
        self.list.replace_providers(batch).await;
        self.publish(None);
        self.notify_authorizations_required(&before);
    }

    /// Notifies the user about apps that newly require authorization.
    fn notify_authorizations_required(&self, before: &HashSet<String>) {
        for provider in self.list.providers().iter().filter(|provider| !before.contains(&provider.authority))
        {
            if let Some(required) = authorization_required(provider) {
                self.authorizations.notify_once(&authorization_request(provider, None, &required));
            }
        }
    }

    /// Handles an observation from a call.
    async fn handle_observation(&mut self, seen: ProviderObservation) {
        match seen {
            ProviderObservation::StaleList { package } => {
                self.start_scan(ChangedPackages::Packages(BTreeSet::from([package]))).await
            }
            ProviderObservation::Unreachable { authority, reason } => {
                self.list.mark_unreachable(&authority, reason);
                self.publish(None);
            }
        }
    }

    /// Scans, after a new connection, the packages that failed before it.
    async fn rescan_unanswered(&mut self, since: Instant) {
        let left = |provider: &&ToolProvider| {
            provider.state != ProviderState::Ready && !provider.has_invalid_declaration()
        };
        let earlier = |package: &String| self.last_scanned.get(package).is_none_or(|asked| *asked < since);
        let packages: BTreeSet<String> = self
            .list
            .providers()
            .iter()
            .filter(left)
            .map(|provider| provider.package.clone())
            .filter(earlier)
            .collect();
        if !packages.is_empty() {
            self.start_scan(ChangedPackages::Packages(packages)).await;
        }
    }

    /// Publishes the list to the device and to observers.
    fn publish(&mut self, fault: Option<ScanError>) {
        let (tools, rows) = self.list.offered_tools();
        if let Err(error) = self.device.set_tools(tools) {
            tracing::error!(%error, "the list of tools was rejected");
        }
        self.device.set_app_providers(rows);
        let providers: Arc<[ToolProvider]> = self.list.providers().into();
        self.overview.send_modify(|overview| {
            let changes = overview.changes + 1;
            *overview = BridgeOverview { providers, fault, changes };
        });
    }
}

#[cfg(test)]
mod tests;
