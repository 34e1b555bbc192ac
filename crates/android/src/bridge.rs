//! Keeps a device's list of tools what the phone's app providers offer: scans at the start, hears of packages that
//! come, change and go, asks those again and no others, and swaps the list whole.

mod list;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use toolway_device::{DeviceHandle, Status, Tool};

use crate::authorization::{Asked, AuthorizationPrompt, Authorizations, request};
use crate::execute::{Executor, Seen};
use crate::failure::AuthorizationRequired;
use crate::host::{Changed, HostError, PackageChanges, ProviderHost};
use crate::naming::Names;
use crate::options::Options;
use crate::provider::{Provider, State};
use crate::reach::Reach;
use crate::scan::{KnownInfo, Scan, ScanError, Wanted};
use list::List;

/// What calls have shown and nobody has looked at yet.
const SEEN: usize = 64;
/// How long until the phone is asked again after it could not be: the first time, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How long the apps that have answered wait for the others before they are offered without them.
const QUICK: Duration = Duration::from_millis(300);

/// Keeps the names that were given for the next start, or says why it can't.
pub type KeepNames = Box<dyn Fn(&Names) -> Result<(), String> + Send + Sync>;

/// What a bridge is made of.
pub struct Parts {
    /// The way to the apps.
    pub host: Arc<dyn ProviderHost>,
    /// The device whose tools they become.
    pub device: DeviceHandle,
    /// The device's other tools, which stand beside them.
    pub others: Vec<Tool>,
    /// The way to the phone's user.
    pub prompt: Arc<dyn AuthorizationPrompt>,
    /// The names that were given before.
    pub names: Names,
    /// Told whenever a name was given.
    pub keep_names: KeepNames,
    /// What may be set.
    pub options: Options,
}

/// What the bridge knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// Every provider that was found, sorted by authority.
    pub providers: Arc<[Provider]>,
    /// Why the phone could not be asked, where it could not.
    pub fault: Option<ScanError>,
    /// How many times this was changed.
    pub changes: u64,
}

/// A running bridge. Dropping it ends it; the device keeps the tools that it had.
#[derive(Debug)]
pub struct Bridge {
    overview: watch::Receiver<Overview>,
    changes: PackageChanges,
    authorizations: Authorizations,
    options: Options,
    task: JoinHandle<()>,
    stop: DropGuard,
}

impl Bridge {
    /// Starts it in a task of its own. Must be called within a tokio runtime.
    #[must_use = "dropping it ends it"]
    pub fn start(parts: Parts) -> Self {
        let Parts { host, device, others, prompt, names, keep_names, options } = parts;
        let reach = Reach::new(host);
        let authorizations = Authorizations::new(reach.clone(), prompt);
        let (seen, seen_by_calls) = mpsc::channel(SEEN);
        let executor = Executor::new(reach.clone(), authorizations.clone(), options, seen);
        let (overview, watched) = watch::channel(Overview::default());
        let changes = PackageChanges::default();
        let stop = CancellationToken::new();
        let keeper = Keeper {
            reach,
            list: List::new(others, names, executor),
            device,
            keep_names,
            changes: changes.clone(),
            authorizations: authorizations.clone(),
            options,
            overview,
            seen: seen_by_calls,
            scan: Scan::default(),
            asked: HashMap::new(),
            again: None,
            patience: AGAIN.0,
            watching: false,
        };
        let task = tokio::spawn(keeper.run(stop.clone()));
        Self { overview: watched, changes, authorizations, options, task, stop: stop.drop_guard() }
    }

    /// What it knows, and each change of it.
    #[must_use]
    pub fn overview(&self) -> watch::Receiver<Overview> {
        self.overview.clone()
    }

    /// Asks all apps again.
    pub fn rescan(&self) {
        self.changes.everything();
    }

    /// Where a host's broadcasts come in from outside of [`ProviderHost::watch`].
    #[must_use]
    pub fn changes(&self) -> PackageChanges {
        self.changes.clone()
    }

    /// Takes the user to an app that shows no tools before it is allowed, and asks the app again afterwards. Nothing
    /// where there is no such provider, or where it does not ask to be allowed.
    pub async fn authorize(&self, authority: &str) -> Option<Asked> {
        let provider = self
            .overview
            .borrow()
            .providers
            .iter()
            .find(|provider| provider.authority == authority)
            .cloned()?;
        let request = request(&provider, None, &required(&provider)?);
        let since = Instant::now();
        let asked = self.authorizations.ask(&request, since, self.options.person_patience).await;
        if asked == Asked::Returned {
            self.changes.package(provider.package);
        }
        Some(asked)
    }

    /// Ends it and waits until it has ended. The device keeps the tools that it had.
    pub async fn stop(self) {
        self.stop.disarm().cancel();
        // A panic has been logged; there is nothing more to do about it.
        let _ = self.task.await;
    }
}

/// The tools that the gateway does not take, by name, with the reason; nothing where it has not said so.
fn rejected(status: &Status) -> Option<BTreeMap<String, String>> {
    let Status::Connected(connection) = status else { return None };
    let registered = connection.tools.as_ref()?;
    Some(registered.rejected.iter().map(|it| (it.name.clone(), it.reason.clone())).collect())
}

/// Waits for a moment, or for ever where there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// What a provider says that it needs.
fn required(provider: &Provider) -> Option<AuthorizationRequired> {
    match &provider.state {
        State::AuthorizationRequired { message, hint, intent } => Some(AuthorizationRequired {
            message: message.clone(),
            hint: hint.clone(),
            intent: intent.clone(),
        }),
        _ => None,
    }
}

/// When each new connection of the device came about; nothing more when the device is gone. The status of a connection
/// changes in other ways too, whenever tools are registered, which is no reason to ask anybody again.
fn connections(mut status: watch::Receiver<Status>) -> mpsc::Receiver<Instant> {
    let (told, connections) = mpsc::channel(1);
    tokio::spawn(async move {
        let is_connected = |status: &Status| matches!(status, Status::Connected(_));
        let mut connected = is_connected(&status.borrow_and_update());
        loop {
            tokio::select! {
                changed = status.changed() => if changed.is_err() { return },
                () = told.closed() => return,
            }
            let before = std::mem::replace(&mut connected, is_connected(&status.borrow_and_update()));
            if connected && !before {
                // One that nobody has heard of yet stands for this one too.
                let _ = told.try_send(Instant::now());
            }
        }
    });
    connections
}

/// The task's own things.
struct Keeper {
    reach: Reach,
    list: List,
    device: DeviceHandle,
    keep_names: KeepNames,
    changes: PackageChanges,
    authorizations: Authorizations,
    options: Options,
    overview: watch::Sender<Overview>,
    seen: mpsc::Receiver<Seen>,
    /// What is being asked.
    scan: Scan,
    /// When each package was last asked.
    asked: HashMap<String, Instant>,
    /// When the phone is asked again that could not be, and how long after that.
    again: Option<Instant>,
    patience: Duration,
    watching: bool,
}

impl Keeper {
    async fn run(mut self, stop: CancellationToken) {
        let changes = self.changes.clone();
        tokio::select! {
            () = self.keep() => {}
            () = stop.cancelled() => {}
        }
        changes.end();
    }

    async fn keep(&mut self) {
        let mut connections = connections(self.device.status());
        let mut status = self.device.status();
        self.ask(Changed::Everything).await;
        loop {
            tokio::select! {
                Some(batch) = self.scan.batch(QUICK), if !self.scan.is_over() => self.take(batch).await,
                () = self.changes.heard() => {
                    tokio::time::sleep(self.options.settle).await;
                    if let Some(changed) = self.changes.take() {
                        self.ask(changed).await;
                    }
                }
                Some(seen) = self.seen.recv() => self.look_at(seen).await,
                connection = connections.recv() => match connection {
                    Some(since) => self.ask_those_left(since).await,
                    // The device is gone.
                    None => return,
                },
                Ok(()) = status.changed() => {
                    let rejected = rejected(&status.borrow_and_update());
                    if self.list.rejected(rejected) {
                        self.device.set_app_providers(self.list.offer().1);
                    }
                }
                () = until(self.again), if self.again.is_some() => self.ask(Changed::Everything).await,
            }
        }
    }

    /// Hears of packages from now on; where the host can't tell yet, it is tried again with the next question.
    async fn watch(&mut self) {
        let changes = self.changes.clone();
        let watching = self.reach.ask(self.options.list_patience, move |host| host.watch(changes)).await;
        let failed = match watching {
            Ok(Ok(())) => {
                self.watching = true;
                return;
            }
            Ok(Err(HostError { message, .. })) => message,
            Err(missed) => missed.to_string(),
        };
        tracing::warn!(%failed, "changes of packages are not heard of");
    }

    /// Asks the apps that may be other ones now. What is on its way from others goes on.
    async fn ask(&mut self, changed: Changed) {
        if !self.watching {
            self.watch().await;
        }
        let (packages, known) = match changed {
            Changed::Everything => (None, self.list.known()),
            // A package that changed may have other things to say of itself.
            Changed::Packages(packages) => (Some(packages), KnownInfo::new()),
        };
        let wanted = Wanted { packages: packages.clone(), known, patience: self.options.list_patience };
        let found = match self.scan.ask(&self.reach, wanted).await {
            Ok(found) => found,
            Err(fault) => return self.failed(fault, packages.is_none()),
        };
        (self.again, self.patience) = (None, AGAIN.0);
        let now = Instant::now();
        self.asked.retain(|package, _| packages.as_ref().is_some_and(|asked| !asked.contains(package)));
        self.asked.extend(found.packages.iter().map(|package| (package.clone(), now)));
        self.list.name(&found.claims, &self.keep_names);
        let was = self.list.providers().len();
        self.list.retain(|package| {
            found.packages.contains(package)
                || packages.as_ref().is_some_and(|asked| !asked.contains(package))
        });
        if self.list.providers().len() != was || found.packages.is_empty() {
            self.publish(None);
        }
    }

    /// The phone could not be asked. It is tried again; where it could not be asked for anything, what it had is not
    /// to be had at the moment.
    fn failed(&mut self, fault: ScanError, all: bool) {
        if all {
            self.list.all_unavailable(&fault.to_string());
            self.publish(Some(fault));
        }
        self.again = Instant::now().checked_add(self.patience);
        self.patience = (self.patience * 2).min(AGAIN.1);
    }

    /// Takes the answers of some packages.
    async fn take(&mut self, batch: Vec<Provider>) {
        let before = self.list.authorities_to_allow();
        self.list.swap(batch).await;
        self.publish(None);
        self.offer_to_allow(&before);
    }

    /// Lets the user know of apps that have just begun to ask to be allowed.
    fn offer_to_allow(&self, before: &HashSet<String>) {
        for provider in self.list.providers().iter().filter(|provider| !before.contains(&provider.authority))
        {
            if let Some(required) = required(provider) {
                self.authorizations.offer(&request(provider, None, &required));
            }
        }
    }

    /// What a call has shown.
    async fn look_at(&mut self, seen: Seen) {
        match seen {
            Seen::ListIsOld { package } => self.ask(Changed::Packages(BTreeSet::from([package]))).await,
            Seen::Unreachable { authority, reason } => {
                self.list.unreachable(&authority, reason);
                self.publish(None);
            }
        }
    }

    /// Asks those again, at a new connection, who were asked before it and gave nothing.
    async fn ask_those_left(&mut self, since: Instant) {
        let left = |provider: &&Provider| provider.state != State::Ready && !provider.is_declared_wrongly();
        let earlier = |package: &String| self.asked.get(package).is_none_or(|asked| *asked < since);
        let packages: BTreeSet<String> = self
            .list
            .providers()
            .iter()
            .filter(left)
            .map(|provider| provider.package.clone())
            .filter(earlier)
            .collect();
        if !packages.is_empty() {
            self.ask(Changed::Packages(packages)).await;
        }
    }

    /// Hands the list to the device and to whoever watches.
    fn publish(&mut self, fault: Option<ScanError>) {
        let (tools, rows) = self.list.offer();
        if let Err(error) = self.device.set_tools(tools) {
            tracing::error!(%error, "the list of tools was not taken");
        }
        self.device.set_app_providers(rows);
        let providers: Arc<[Provider]> = self.list.providers().into();
        self.overview.send_modify(|overview| {
            let changes = overview.changes + 1;
            *overview = Overview { providers, fault, changes };
        });
    }
}

#[cfg(test)]
mod tests;
