//! Keeps a device's list of tools what the phone's app providers offer: scans at the start, hears of packages that
//! come, change and go, asks those again and no others, and swaps the list whole.

mod list;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
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
use crate::scan::{Scan, ScanError};
use list::List;

/// What calls have shown and nobody has looked at yet.
const SEEN: usize = 64;
/// How long until the phone is asked again after it could not be: the first time, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// How long the apps that have answered wait for the others before they are offered without them.
const QUICK: Duration = Duration::from_millis(300);

/// Told the names that were given, to keep them for the next start.
pub type KeepNames = Box<dyn Fn(&Names) + Send + Sync>;

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
    /// How many times the list was swapped.
    pub swaps: u64,
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
        let since = tokio::time::Instant::now();
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

/// A word for each new connection of the device; nothing more when the device is gone. The status of a connection
/// changes in other ways too, whenever tools are registered, which is no reason to ask anybody again.
fn connections(mut status: watch::Receiver<Status>) -> mpsc::Receiver<()> {
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
                let _ = told.try_send(());
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
        let mut watching = self.watch().await;
        let mut wanted = Some(Changed::Everything);
        let mut again = AGAIN.0;
        let mut connections = connections(self.device.status());
        loop {
            if let Some(changed) = wanted.take() {
                if let Err(fault) = self.ask(changed).await {
                    self.withdraw(fault);
                    tokio::time::sleep(again).await;
                    again = (again * 2).min(AGAIN.1);
                    wanted = Some(Changed::Everything);
                    continue;
                }
                again = AGAIN.0;
                if !watching {
                    watching = self.watch().await;
                }
            }
            wanted = tokio::select! {
                () = self.changes.heard() => {
                    tokio::time::sleep(self.options.settle).await;
                    self.changes.take()
                }
                Some(seen) = self.seen.recv() => self.look_at(seen),
                connection = connections.recv() => match connection {
                    Some(()) => self.unavailable(),
                    // The device is gone.
                    None => return,
                },
            };
        }
    }

    /// Hears of packages from now on; where the host can't tell yet, it is tried again later.
    async fn watch(&self) -> bool {
        let changes = self.changes.clone();
        let watching = self.reach.ask(self.options.list_patience, move |host| host.watch(changes)).await;
        match watching {
            Ok(Ok(())) => true,
            Ok(Err(HostError { message, .. })) => {
                tracing::warn!(%message, "changes of packages are not heard of");
                false
            }
            Err(missed) => {
                tracing::warn!(%missed, "changes of packages are not heard of");
                false
            }
        }
    }

    /// Asks the apps that may be other ones now, and swaps the list.
    async fn ask(&mut self, changed: Changed) -> Result<(), ScanError> {
        let packages: Option<BTreeSet<String>> = match changed {
            Changed::Everything => None,
            Changed::Packages(packages) => Some(packages),
        };
        let asked = packages.as_ref().map(|packages| packages.iter().cloned().collect());
        let mut scan = Scan::start(&self.reach, asked, self.options.list_patience).await?;
        if self.list.name(scan.declared()) {
            (self.keep_names)(self.list.names());
        }
        let found: BTreeSet<String> = scan.packages().map(str::to_owned).collect();
        self.list.retain(|package| {
            found.contains(package) || packages.as_ref().is_some_and(|asked| !asked.contains(package))
        });
        if found.is_empty() {
            self.publish(None);
        }
        while let Some(batch) = scan.batch(QUICK).await {
            let before = self.list.authorities_to_allow();
            self.list.swap(batch);
            self.publish(None);
            self.offer_to_allow(&before);
        }
        Ok(())
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

    /// What a call has shown; gives back what to ask again.
    fn look_at(&mut self, seen: Seen) -> Option<Changed> {
        match seen {
            Seen::ListIsOld { package } => Some(Changed::Packages(BTreeSet::from([package]))),
            Seen::Unreachable { authority, reason } => {
                self.list.unreachable(&authority, reason);
                self.publish(None);
                None
            }
        }
    }

    /// The packages to be asked again at a new connection.
    fn unavailable(&self) -> Option<Changed> {
        let packages: BTreeSet<String> = self
            .list
            .providers()
            .iter()
            .filter(|provider| matches!(provider.state, State::Unavailable { .. }))
            .map(|provider| provider.package.clone())
            .collect();
        (!packages.is_empty()).then_some(Changed::Packages(packages))
    }

    /// The phone can't be asked: what it had is not to be had at the moment.
    fn withdraw(&mut self, fault: ScanError) {
        self.list.all_unavailable(&fault.to_string());
        self.publish(Some(fault));
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
            let swaps = overview.swaps + 1;
            *overview = Overview { providers, fault, swaps };
        });
    }
}

#[cfg(test)]
mod tests;
