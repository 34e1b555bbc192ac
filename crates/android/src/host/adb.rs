//! Access to a phone through the program `adb`, from the computer that it is connected to.
//!
//! Toolway runs the program instead of a library for adb's protocol: adb users have it, its server already
//! owns the USB connection (two programs can't share it), the phone has authorized its keys, and it supports
//! wireless debugging and emulators.
//!
//! adb has limits, which are reported and not worked around. Its shell has no app permissions, so a provider
//! that requires one (every provider from ClawSeed's CETP tutorial) can be found and explained but not
//! called, except on a phone with a root shell. Maps can't be passed, so tools of the MCP dialects can be
//! listed but not called. The extras of a call are never `null` but an empty bundle. The phone's program
//! `content` makes the calls.

mod adb_process;
mod content;
mod package_watch;
mod packages;
mod phone;
mod phones;
mod printed_bundle;
mod quoting;
mod remote_file;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::bundle::Bundle;
use crate::cetp;
use crate::host::{
    AuthorityOwner, AuthorizationScreen, CallFailure, DeclarationEntry, HostCall, HostError,
    ManifestMetaData, PackageChanges, ProviderDeclaration, ProviderHost,
};
use crate::manifest::{Apk, ApkError, AppComponent, ProviderElement};
use crate::mcp;
use packages::{ComponentName, InstalledApp};
use phone::{AdbDevice, PhoneFile, PhoneProperties, ShellError};
use quoting::{ExtraEscaping, quote_word};
use remote_file::RemoteFile;

pub use adb_process::AdbProgram;
pub use packages::PermissionOwner;

/// Maximum size of an answer: a printed bundle of one megabyte, which is Android's limit.
const MAX_RESULT: usize = 4 << 20;
/// Maximum number of cached manifests.
const MAX_MANIFESTS: usize = 1_024;
/// Time for which an unknown authority is not looked up again. One lookup covers all authorities.
const CACHE_TTL: Duration = Duration::from_secs(2);
/// Maximum number of APKs that are read at the same time.
const MAX_READERS: usize = 4;

/// A phone that is connected with `adb`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AdbHost {
    inner: Arc<AdbHostState>,
    is_for_calls: bool,
}

#[derive(Debug)]
struct AdbHostState {
    phone: AdbDevice,
    known: Mutex<PackageCache>,
}

/// Results of earlier requests.
#[derive(Debug, Default)]
struct PackageCache {
    /// By path and version, which change with each installation.
    apks: BTreeMap<(String, String), Arc<Result<Apk, String>>>,
    installed: BTreeMap<String, InstalledApp>,
    authorities: BTreeMap<String, ComponentName>,
    refreshed_at: Option<Instant>,
}

/// Properties of a phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhoneInfo {
    /// Serial number.
    pub serial: String,
    /// Model name.
    pub model: String,
    /// API level.
    pub api_level: Option<u32>,
    /// True if adb's shell is root, which needs no permissions.
    pub is_root: bool,
}

impl AdbHost {
    /// Creates a host for the phone with this serial number, or for the only connected one. Runs nothing yet.
    #[must_use]
    pub fn new(program: AdbProgram, serial: Option<String>) -> Self {
        let inner = AdbHostState { phone: AdbDevice::new(program, serial), known: Mutex::default() };
        Self { inner: Arc::new(inner), is_for_calls: false }
    }

    /// Prepares the host for offering tools: providers whose tools can't be called over adb are refused when
    /// they are listed.
    #[must_use]
    pub fn for_calls(self) -> Self {
        Self { is_for_calls: true, ..self }
    }

    /// Returns the properties of the phone.
    ///
    /// # Errors
    /// [`HostError`] if there is no phone, several phones, or an unusable one.
    pub fn info(&self) -> Result<PhoneInfo, HostError> {
        let PhoneProperties { api_level, is_root, model, .. } = self.inner.phone.facts()?;
        Ok(PhoneInfo { serial: self.inner.phone.serial()?, model, api_level, is_root })
    }

    /// Returns the app that defines a permission, if there is one.
    ///
    /// # Errors
    /// [`HostError`] if the phone can't be reached.
    pub fn permission(&self, name: &str) -> Result<Option<PermissionOwner>, HostError> {
        let said = self
            .inner
            .phone
            .run_system_command(&format!("dumpsys package permission {}", quote_word(name)))?;
        Ok(packages::permission(&said, name))
    }

    /// Reads an app's APK; returns `None` if the app is not installed.
    ///
    /// # Errors
    /// [`HostError`] if the phone can't be reached or the APK can't be read.
    pub fn apk(&self, package: &str) -> Result<Option<Apk>, HostError> {
        let inner = &self.inner;
        let Some(installed) = inner.installed()?.remove(package) else { return Ok(None) };
        match &*inner.apk(&installed)? {
            Ok(apk) => Ok(Some(apk.clone())),
            Err(why) => Err(HostError::new(format!("{package}: {why}"))),
        }
    }

    /// Returns the apps with an unreadable manifest, with the reasons.
    #[must_use]
    pub fn unreadable_apps(&self) -> Vec<(String, String)> {
        let known = self.inner.known.lock();
        let why = |installed: &InstalledApp| {
            let read = known.apks.get(&(installed.path.clone(), installed.version.clone()))?;
            read.as_ref().as_ref().err().cloned()
        };
        known.installed.iter().filter_map(|(package, it)| Some((package.clone(), why(it)?))).collect()
    }
}

impl AdbHostState {
    fn installed(&self) -> Result<BTreeMap<String, InstalledApp>, HostError> {
        let user = self.phone.facts()?.user;
        Ok(packages::installed(&self.phone.run_system_command(&list_packages(user))?))
    }

    /// Returns an app's manifest, from the phone or from the cache, or the reason why it is unreadable.
    fn apk(&self, installed: &InstalledApp) -> Result<Arc<Result<Apk, String>>, HostError> {
        let key = (installed.path.clone(), installed.version.clone());
        if let Some(apk) = self.known.lock().apks.get(&key) {
            return Ok(Arc::clone(apk));
        }
        let said = self.phone.run_system_command(&format!("stat -c %s {}", quote_word(&installed.path)))?;
        let Ok(length) = said.trim().parse() else {
            return Ok(Arc::new(Err("the adb shell may not read its APK".to_owned())));
        };
        let file = PhoneFile { phone: &self.phone, path: &installed.path };
        let read = Apk::read(RemoteFile::new(file, length), self.phone.facts()?.api_level);
        // An interrupted read may be caused by the connection, so it is not cached.
        let is_final = !matches!(read, Err(ApkError::Io(_)));
        let apk = Arc::new(read.map_err(|error| error.to_string()));
        if !is_final {
            return Ok(apk);
        }
        let mut known = self.known.lock();
        if known.apks.len() >= MAX_MANIFESTS {
            known.apks.clear();
        }
        known.apks.insert(key, Arc::clone(&apk));
        Ok(apk)
    }

    /// Queries packages, services, providers and authorities with one command.
    fn query_components(&self) -> Result<(BTreeSet<ComponentName>, BTreeSet<ComponentName>), HostError> {
        let user = self.phone.facts()?.user;
        // The output contains text of apps, so they must not be able to predict the separator.
        let next = phone::random_marker();
        let line = [
            list_packages(user),
            format!("cmd package query-services --components --user {user} -a {}", cetp::ACTION),
            "dumpsys package resolvers content".to_owned(),
            "dumpsys package providers".to_owned(),
        ]
        .join(&format!("; echo {next}; "));
        let said = self.phone.run_system_command(&line)?;
        let parts: Vec<&str> = said.split(&next).collect();
        let [installed, services, providers, authorities] = parts.as_slice() else {
            return Err(HostError::new("the phone's lists of apps can't be parsed"));
        };
        let installed = packages::installed(installed);
        let services = packages::components(services);
        let providers = packages::resolvers(providers, &[mcp::MIME_TYPE, mcp::ACTION]);
        let authorities = packages::authorities(authorities);
        let mut known = self.known.lock();
        known.installed = installed;
        known.authorities = authorities;
        known.refreshed_at = Some(Instant::now());
        Ok((services, providers))
    }

    fn declarations(
        &self,
        services: &BTreeSet<ComponentName>,
        providers: &BTreeSet<ComponentName>,
        packages: Option<&[String]>,
    ) -> Result<Vec<ProviderDeclaration>, HostError> {
        let named: BTreeSet<&String> = services.iter().chain(providers).map(|it| &it.package).collect();
        let wanted = named.into_iter().filter(|it| packages.is_none_or(|wanted| wanted.contains(it)));
        let installed: Vec<(&String, InstalledApp)> = {
            let known = self.known.lock();
            wanted.filter_map(|package| Some((package, known.installed.get(package)?.clone()))).collect()
        };
        // Each read takes some round trips. The results are cached and used below.
        std::thread::scope(|scope| {
            for some in installed.chunks(installed.len().div_ceil(MAX_READERS).max(1)) {
                let read = move || some.iter().try_for_each(|(_, installed)| self.apk(installed).map(drop));
                // Without a thread, they are read below.
                let _ = std::thread::Builder::new().spawn_scoped(scope, read);
            }
        });
        let mut declarations = Vec::new();
        for (package, installed) in &installed {
            let services = services.iter().filter(|it| it.package == **package);
            let providers = providers.iter().filter(|it| it.package == **package);
            match &*self.apk(installed)? {
                Ok(apk) => {
                    declarations.extend(services.filter_map(|it| service(apk, &it.class)));
                    declarations.extend(providers.flat_map(|it| provider(apk, &it.class)));
                }
                Err(why) => declarations.extend(services.chain(providers).map(|it| unreadable(it, why))),
            }
        }
        Ok(declarations)
    }
}

fn list_packages(user: u32) -> String {
    format!("pm list packages -f --show-versioncode --user {user}")
}

fn declaration(apk: &Apk, component: &AppComponent, entry: DeclarationEntry) -> ProviderDeclaration {
    ProviderDeclaration {
        package: apk.manifest.package.clone(),
        label: apk.manifest.label.clone(),
        certificate: apk.certificate.clone(),
        component: component.class.clone(),
        exported: component.exported,
        entry,
    }
}

/// Returns the declaration of a CETP service. A service that the system lists is enabled, even if it is
/// disabled in the manifest: the app has enabled it.
fn service(apk: &Apk, class: &str) -> Option<ProviderDeclaration> {
    let service = apk.manifest.services.iter().find(|service| service.class == class)?;
    let entry = DeclarationEntry::CetpService {
        authority: service.meta(cetp::AUTHORITY).cloned(),
        version: service.meta(cetp::VERSION).cloned(),
    };
    Some(declaration(apk, service, entry))
}

/// Returns the declarations of a provider of the MCP dialects, one for each way in which it is found.
fn provider(apk: &Apk, class: &str) -> Vec<ProviderDeclaration> {
    let found = apk.manifest.providers.iter().find(|it| it.component.class == class && it.component.enabled);
    let Some(provider @ ProviderElement { component, authorities, .. }) = found else { return Vec::new() };
    let mut entries = Vec::new();
    if provider.is_mcp_type() {
        entries.push(DeclarationEntry::McpMimeType { authorities: authorities.clone() });
    }
    if component.has_action(mcp::ACTION) {
        entries.push(DeclarationEntry::McpAction { authorities: authorities.clone() });
    }
    entries.into_iter().map(|entry| declaration(apk, component, entry)).collect()
}

/// Returns the declaration of a component in an app with an unreadable manifest.
fn unreadable(component: &ComponentName, why: &str) -> ProviderDeclaration {
    let reason = ManifestMetaData::Other(format!("the app's manifest can't be read: {why}"));
    ProviderDeclaration {
        package: component.package.clone(),
        label: None,
        certificate: None,
        component: component.class.clone(),
        exported: true,
        entry: DeclarationEntry::CetpService { authority: Some(reason), version: None },
    }
}

impl ProviderHost for AdbHost {
    fn discover(&self, packages: Option<&[String]>) -> Result<Vec<ProviderDeclaration>, HostError> {
        let (services, providers) = self.inner.query_components()?;
        self.inner.declarations(&services, &providers, packages)
    }

    fn resolve(&self, authority: &str) -> Result<Option<AuthorityOwner>, HostError> {
        let named = |known: &PackageCache| known.authorities.get(authority).cloned();
        let mut component = named(&self.inner.known.lock());
        let is_fresh = self.inner.known.lock().refreshed_at.is_some_and(|at| at.elapsed() < CACHE_TTL);
        if component.is_none() && !is_fresh {
            self.inner.query_components()?;
            component = named(&self.inner.known.lock());
        }
        let Some(ComponentName { package, class }) = component else { return Ok(None) };
        let Some(installed) = self.inner.known.lock().installed.get(&package).cloned() else {
            return Ok(None);
        };
        let apk = self.inner.apk(&installed)?;
        let provider =
            apk.as_ref().as_ref().ok().and_then(|apk| {
                apk.manifest.providers.iter().find(|provider| provider.component.class == class)
            });
        // Nothing is known about an unreadable manifest; a call will show whether it is allowed.
        Ok(Some(AuthorityOwner {
            exported: provider.is_none_or(|provider| provider.component.exported),
            read_permission: provider.and_then(|provider| provider.read_permission.clone()),
            write_permission: provider.and_then(|provider| provider.write_permission.clone()),
            package,
            class,
        }))
    }

    fn call(&self, call: &HostCall) -> Result<Option<Bundle>, CallFailure> {
        let phone = &self.inner.phone;
        // Unsupported values are refused before anything is sent to the phone.
        content::command(call, 0, ExtraEscaping::Backslash)?;
        if self.is_for_calls && call.method == mcp::GET_TOOL_INFO {
            return Err(CallFailure::Unsupported(content::NO_MAPS.to_owned()));
        }
        let PhoneProperties { user, is_root, .. } = phone.facts()?;
        let escaping =
            if content::needs_escaping(call) { phone.escaping()? } else { ExtraEscaping::Backslash };
        let command = content::command(call, user, escaping)?;
        let said = phone.shell(&command, call.timeout, MAX_RESULT).map_err(|error| match error {
            ShellError::Host(error) => CallFailure::Host(error),
            ShellError::TimedOut => CallFailure::TimedOut,
            ShellError::OutputTooLarge(most) => {
                CallFailure::TooLarge(format!("the answer has more than {most} bytes"))
            }
        })?;
        content::parse_output(&said.stdout, &said.stderr, &call.method).map_err(|failure| match failure {
            CallFailure::Security(said) if !is_root => {
                CallFailure::Security(format!("{said}. The adb shell has no app permissions"))
            }
            other => other,
        })
    }

    /// Calling is the only way to start a process here.
    fn wake(&self, _: &str) -> Result<bool, HostError> {
        Ok(false)
    }

    fn launch(&self, package: &str) -> Result<bool, HostError> {
        let inner = &self.inner;
        let (action, category) = ("android.intent.action.MAIN", "android.intent.category.LAUNCHER");
        match inner.activities(action, Some(category), package)?.first() {
            Some(activity) => inner.start_activity(action, activity),
            None => Ok(false),
        }
    }

    fn open_authorization(&self, package: &str, action: &str) -> Result<bool, HostError> {
        match self.inner.authorization_screen(action, package)? {
            AuthorizationScreen::Found { class } => {
                self.inner.start_activity(action, &ComponentName { package: package.to_owned(), class })
            }
            AuthorizationScreen::Unknown
            | AuthorizationScreen::Missing
            | AuthorizationScreen::Closed { .. } => Ok(false),
        }
    }

    fn find_authorization_screen(
        &self,
        package: &str,
        action: &str,
    ) -> Result<AuthorizationScreen, HostError> {
        self.inner.authorization_screen(action, package)
    }

    fn permission_hint(&self) -> &'static str {
        match self.inner.phone.known_facts() {
            Some(PhoneProperties { is_root: false, is_debuggable: true, .. }) => {
                "call it from the bridge app on the phone, or run `adb root`"
            }
            // A root shell has every permission already.
            Some(PhoneProperties { is_root: true, .. }) => "call it from the bridge app on the phone",
            // `adb root` does nothing on a phone as it is sold.
            _ => "call it from the bridge app on the phone, or use an emulator with a root shell",
        }
    }

    fn watch(&self, changes: PackageChanges) -> Result<(), HostError> {
        let inner = Arc::clone(&self.inner);
        // Recorded now, so that changes before the thread starts are noticed.
        let known = inner.installed().ok();
        std::thread::Builder::new()
            .name("adb packages".to_owned())
            .spawn(move || package_watch::watch(&inner, known, &changes))
            .map(|_| ())
            .map_err(|error| HostError::new(format!("can't start a thread: {error}")))
    }
}

impl AdbHostState {
    /// Returns the activities of this app for an action.
    fn activities(
        &self,
        action: &str,
        category: Option<&str>,
        package: &str,
    ) -> Result<Vec<ComponentName>, HostError> {
        let user = self.phone.facts()?.user;
        let category = category.map(|category| format!(" -c {category}")).unwrap_or_default();
        let found = self.phone.run_system_command(&format!(
            "cmd package query-activities --components --user {user} -a {}{category} -p {}",
            quote_word(action),
            quote_word(package)
        ))?;
        Ok(packages::components(&found).into_iter().filter(|it| it.package == package).collect())
    }

    /// Returns the screen of this app for an action: one that other apps can open, if there is any. adb's shell
    /// itself may open every activity, a bridge app on the phone may not.
    fn authorization_screen(&self, action: &str, package: &str) -> Result<AuthorizationScreen, HostError> {
        let mut screen = AuthorizationScreen::Missing;
        let activities = self.activities(action, None, package)?;
        if activities.is_empty() {
            return Ok(screen);
        }
        let installed = self.installed()?.remove(package);
        let apk = installed.map(|installed| self.apk(&installed)).transpose()?;
        let manifest = apk.as_ref().and_then(|apk| apk.as_ref().as_ref().ok()).map(|apk| &apk.manifest);
        for ComponentName { class, .. } in activities {
            let component = manifest.and_then(|it| it.activities.iter().find(|it| it.class == class));
            let reason = match component {
                Some(component) if !component.exported => "it is not exported".to_owned(),
                Some(AppComponent { permission: Some(permission), .. }) => {
                    format!("it requires the permission {permission}")
                }
                // Nothing is known about an unreadable manifest.
                _ => return Ok(AuthorizationScreen::Found { class }),
            };
            screen = AuthorizationScreen::Closed { class, reason };
        }
        Ok(screen)
    }

    /// Opens an activity for an action.
    fn start_activity(&self, action: &str, activity: &ComponentName) -> Result<bool, HostError> {
        let user = self.phone.facts()?.user;
        let name = quote_word(&format!("{}/{}", activity.package, activity.class));
        let line = format!("am start --user {user} -a {} -n {name}", quote_word(action));
        let said = self
            .phone
            .shell(&line, phone::SYSTEM_TIMEOUT, phone::MAX_ANSWER)
            .map_err(ShellError::into_host)?;
        let failed =
            |text: &str| text.lines().any(|line| line.starts_with("Error") || line.contains("Exception"));
        Ok(!failed(&said.stdout) && !failed(&said.stderr))
    }
}

/// Parses the output of `content call` as an answer to `method`, for tools that examine recorded output.
///
/// # Errors
/// [`CallFailure`] with the printed exception.
pub fn read_answer(stdout: &str, stderr: &str, method: &str) -> Result<Option<Bundle>, CallFailure> {
    content::parse_output(stdout, stderr, method)
}
