//! App providers in memory: for tests, and for tools that are written in Rust as app providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    AuthorityOwner, AuthorizationScreen, CallFailure, DeclarationEntry, HostCall, HostError,
    ManifestMetaData, PackageChanges, ProviderDeclaration, ProviderHost,
};
use crate::bundle::Bundle;

/// Handler of calls to a provider.
pub type MemoryAppHandler = dyn Fn(&HostCall) -> Result<Option<Bundle>, CallFailure> + Send + Sync;

/// An installed app.
#[derive(Clone)]
pub struct MemoryApp {
    declaration: ProviderDeclaration,
    owners: Vec<(String, AuthorityOwner)>,
    answer: Arc<MemoryAppHandler>,
}

impl MemoryApp {
    /// Creates an app with a CETP provider of version 1. Its label is the last part of the package.
    pub fn cetp(
        package: &str,
        answer: impl Fn(&HostCall) -> Result<Option<Bundle>, CallFailure> + Send + Sync + 'static,
    ) -> Self {
        let authority = format!("{package}.clawseed.tools");
        let entry = DeclarationEntry::CetpService {
            authority: Some(ManifestMetaData::Text(authority.clone())),
            version: Some(ManifestMetaData::Int(1)),
        };
        Self::new(package, &authority, entry, answer)
    }

    /// Creates an app with a provider of another dialect.
    pub fn new(
        package: &str,
        authority: &str,
        entry: DeclarationEntry,
        answer: impl Fn(&HostCall) -> Result<Option<Bundle>, CallFailure> + Send + Sync + 'static,
    ) -> Self {
        let owner = AuthorityOwner {
            package: package.to_owned(),
            class: format!("{package}.Provider"),
            exported: true,
            read_permission: None,
            write_permission: None,
        };
        Self {
            declaration: ProviderDeclaration {
                package: package.to_owned(),
                label: None,
                certificate: Some(format!("certificate of {package}")),
                component: format!("{package}.Entry"),
                exported: true,
                entry,
            },
            owners: vec![(authority.to_owned(), owner)],
            answer: Arc::new(answer),
        }
    }

    /// Sets the label.
    #[must_use]
    pub fn label(mut self, label: &str) -> Self {
        self.declaration.label = Some(label.to_owned());
        self
    }

    /// Sets the certificate.
    #[must_use]
    pub fn certificate(mut self, certificate: Option<&str>) -> Self {
        self.declaration.certificate = certificate.map(str::to_owned);
        self
    }

    /// Sets the declaration.
    #[must_use]
    pub fn entry(mut self, entry: DeclarationEntry) -> Self {
        self.declaration.entry = entry;
        self
    }

    /// Sets the owners of authorities.
    #[must_use]
    pub fn owners(mut self, owners: Vec<(String, AuthorityOwner)>) -> Self {
        self.owners = owners;
        self
    }
}

type WakeCallback = dyn Fn(&str) -> bool + Send + Sync;
type FindScreenCallback = dyn Fn(&str, &str) -> AuthorizationScreen + Send + Sync;
type OpenCallback = dyn Fn(&str, Option<&str>) -> bool + Send + Sync;

#[derive(Default)]
struct MemoryHostState {
    apps: BTreeMap<String, MemoryApp>,
    watchers: Vec<PackageChanges>,
    fault: Option<HostError>,
    on_wake: Option<Arc<WakeCallback>>,
    on_open: Option<Arc<OpenCallback>>,
    on_find_screen: Option<Arc<FindScreenCallback>>,
}

/// A phone in memory. Cheap to clone.
#[derive(Clone, Default)]
pub struct MemoryHost(Arc<Mutex<MemoryHostState>>);

impl std::fmt::Debug for MemoryHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryHost").finish_non_exhaustive()
    }
}

impl MemoryHost {
    /// Creates a phone without apps.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Installs or updates an app, and notifies listeners.
    pub fn install(&self, app: MemoryApp) {
        let package = app.declaration.package.clone();
        self.0.lock().apps.insert(package.clone(), app);
        self.notify_watchers(&package);
    }

    /// Removes an app, and notifies listeners.
    pub fn remove(&self, package: &str) {
        self.0.lock().apps.remove(package);
        self.notify_watchers(package);
    }

    /// Makes the phone unreachable, or reachable again.
    pub fn set_fault(&self, fault: Option<HostError>) {
        self.0.lock().fault = fault;
    }

    /// Sets the function that is called to start an authority's process.
    pub fn on_wake(&self, wake: impl Fn(&str) -> bool + Send + Sync + 'static) {
        self.0.lock().on_wake = Some(Arc::new(wake));
    }

    /// Sets the function that is called to open an app, with its package and the action of the screen; `None`
    /// for the start screen.
    pub fn on_open(&self, open: impl Fn(&str, Option<&str>) -> bool + Send + Sync + 'static) {
        self.0.lock().on_open = Some(Arc::new(open));
    }

    /// Sets the function that looks for the authorization screen of a package for an action.
    pub fn on_find_screen(&self, find: impl Fn(&str, &str) -> AuthorizationScreen + Send + Sync + 'static) {
        self.0.lock().on_find_screen = Some(Arc::new(find));
    }

    fn notify_watchers(&self, package: &str) {
        let mut inside = self.0.lock();
        inside.watchers.retain(|watcher| !watcher.is_closed());
        for watcher in &inside.watchers {
            watcher.add_package(package);
        }
    }

    fn check_reachable(&self) -> Result<(), HostError> {
        self.0.lock().fault.clone().map_or(Ok(()), Err)
    }

    fn open(&self, package: &str, action: Option<&str>) -> bool {
        let open = self.0.lock().on_open.clone();
        open.is_some_and(|open| open(package, action))
    }
}

impl ProviderHost for MemoryHost {
    fn discover(&self, packages: Option<&[String]>) -> Result<Vec<ProviderDeclaration>, HostError> {
        self.check_reachable()?;
        let inside = self.0.lock();
        let wanted = |app: &&MemoryApp| packages.is_none_or(|all| all.contains(&app.declaration.package));
        Ok(inside.apps.values().filter(wanted).map(|app| app.declaration.clone()).collect())
    }

    fn resolve(&self, authority: &str) -> Result<Option<AuthorityOwner>, HostError> {
        self.check_reachable()?;
        let inside = self.0.lock();
        let mut owners = inside.apps.values().flat_map(|app| &app.owners);
        Ok(owners.find(|(known, _)| known == authority).map(|(_, owner)| owner.clone()))
    }

    fn call(&self, call: &HostCall) -> Result<Option<Bundle>, CallFailure> {
        self.check_reachable()?;
        let answer = {
            let inside = self.0.lock();
            let app = inside
                .apps
                .values()
                .find(|app| app.owners.iter().any(|(authority, _)| *authority == call.authority));
            app.map(|app| Arc::clone(&app.answer))
        };
        match answer {
            Some(answer) => answer(call),
            None => Err(CallFailure::UnknownAuthority(format!("Unknown authority {}", call.authority))),
        }
    }

    fn wake(&self, authority: &str) -> Result<bool, HostError> {
        self.check_reachable()?;
        let wake = self.0.lock().on_wake.clone();
        Ok(wake.is_some_and(|wake| wake(authority)))
    }

    fn launch(&self, package: &str) -> Result<bool, HostError> {
        self.check_reachable()?;
        Ok(self.open(package, None))
    }

    fn open_authorization(&self, package: &str, action: &str) -> Result<bool, HostError> {
        self.check_reachable()?;
        Ok(self.open(package, Some(action)))
    }

    fn find_authorization_screen(
        &self,
        package: &str,
        action: &str,
    ) -> Result<AuthorizationScreen, HostError> {
        self.check_reachable()?;
        let find = self.0.lock().on_find_screen.clone();
        Ok(find.map_or(AuthorizationScreen::Unknown, |find| find(package, action)))
    }

    fn watch(&self, changes: PackageChanges) -> Result<(), HostError> {
        self.check_reachable()?;
        self.0.lock().watchers.push(changes);
        Ok(())
    }
}
