//! The phone that a command is about, by way of the program `adb`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use toolway_android::host::HostError;
use toolway_android::host::adb::{AdbHost, AdbProgram, PermissionOwner, PhoneInfo};
use toolway_android::provider::Provider;
use toolway_android::reach::Reach;
use toolway_android::scan::ScanError;
use toolway_android::{Names, Options, ProviderHost, cetp};

use crate::context::Context;
use crate::environment::Environment;
use crate::report::{Done, Failure};

/// What the program is called.
const ADB: &str = if cfg!(windows) { "adb.exe" } else { "adb" };
/// Variables that name the folder of Android's SDK, in which it may lie.
const SDKS: [&str; 2] = ["ANDROID_HOME", "ANDROID_SDK_ROOT"];

/// Variables that adb and its server need: where things lie, and how they are to speak.
const NEEDED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SYSTEMROOT",
    "USERPROFILE",
    "LOCALAPPDATA",
];
const NEEDED_PREFIXES: &[&str] = &["ADB_", "ANDROID_", "LC_", "LIBUSB_"];

/// Which phone.
#[derive(Debug, Clone, Args)]
pub(crate) struct PhoneArgs {
    /// Serial number of the phone, as `adb devices` shows it; may be left out where there is only one
    #[arg(long, value_name = "SERIAL")]
    pub(crate) serial: Option<String>,
}

/// A phone, and the way to the apps on it.
#[derive(Debug, Clone)]
pub(crate) struct Phone {
    pub(crate) host: AdbHost,
    pub(crate) reach: Reach,
}

/// What is known of a phone beside its apps.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) info: PhoneInfo,
    /// Who defines the permission that CETP's consumers need.
    pub(crate) access_tools: Option<PermissionOwner>,
}

/// Reaches a phone; nothing is asked of it yet.
pub(crate) fn host(serial: Option<&str>, context: &Context) -> Done<AdbHost> {
    let environment = &context.environment;
    let path = find(environment).ok_or_else(|| {
        Failure::new("there is no program adb on the PATH")
            .code("no_adb")
            .hint("install Android's platform tools (Debian: apt-get install adb; macOS: brew install android-platform-tools)")
            .hint("or set ANDROID_HOME to the folder of Android's SDK")
    })?;
    // Its server lives on with what it is given, so that is only what it needs.
    let needed = environment.all().into_iter().filter(|(name, _)| is_needed(name));
    let program = AdbProgram { path, environment: needed.collect() };
    Ok(AdbHost::new(program, serial.map(str::to_owned)))
}

fn is_needed(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy().to_ascii_uppercase();
    NEEDED.contains(&name.as_str()) || NEEDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn find(environment: &Environment) -> Option<PathBuf> {
    let on_path = environment.variable("PATH").map(std::env::split_paths).into_iter().flatten();
    let in_sdk = SDKS
        .iter()
        .filter_map(|name| environment.variable(name))
        .map(|it| PathBuf::from(it).join("platform-tools"));
    on_path.chain(in_sdk).map(|folder| folder.join(ADB)).find(|path| path.is_file())
}

/// A failure of the phone, or of the way to it.
pub(crate) fn of_host(error: HostError) -> Failure {
    Failure::new(error.message).code("phone").maybe_hint(error.hint)
}

fn of_scan(error: ScanError) -> Failure {
    match error {
        ScanError::Host(error) => of_host(error),
        ScanError::Missed(_) => {
            Failure::new(error.to_string()).code("phone").hint("it may be busy; try again")
        }
    }
}

impl Phone {
    /// The phone that is meant.
    pub(crate) fn new(args: &PhoneArgs, context: &Context) -> Done<Self> {
        let host = host(args.serial.as_deref(), context)?;
        Ok(Self { reach: Reach::new(Arc::new(host.clone())), host })
    }

    /// Asks the phone something that takes its time.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&AdbHost) -> Result<T, HostError> + Send + 'static,
    ) -> Done<T> {
        let host = self.host.clone();
        let answer = tokio::task::spawn_blocking(move || question(&host)).await;
        answer.map_err(|error| Failure::new(error.to_string()))?.map_err(of_host)
    }

    /// What it is.
    pub(crate) async fn about(&self) -> Done<About> {
        self.ask(|host| Ok(About { info: host.info()?, access_tools: host.permission(cetp::PERMISSION)? }))
            .await
    }

    /// The providers on it, or those of these packages, named as on a phone where nothing was named before.
    pub(crate) async fn providers(
        &self,
        packages: Option<Vec<String>>,
        patience: Duration,
    ) -> Done<Vec<Provider>> {
        let mut providers =
            toolway_android::scan::scan(&self.reach, packages, patience).await.map_err(of_scan)?;
        let mut names = Names::default();
        let claims: Vec<_> =
            providers.iter().filter(|it| !it.is_declared_wrongly()).map(Provider::claim).collect();
        names.assign(&claims);
        for provider in &mut providers {
            provider.prefix = names.of(&provider.owner()).map(str::to_owned);
        }
        Ok(providers)
    }

    /// The provider that serves an authority.
    pub(crate) async fn provider(&self, authority: &str, patience: Duration) -> Done<Provider> {
        let named = authority.to_owned();
        let owner = self.ask(move |host| host.resolve(&named)).await?;
        let package = owner.ok_or_else(|| {
            Failure::new(format!("nobody on this phone serves {authority}"))
                .code("no_provider")
                .hint("`toolway android scan` lists who is there")
        })?;
        let found = self.providers(Some(vec![package.package.clone()]), patience).await?;
        found.into_iter().find(|provider| provider.authority == authority).ok_or_else(|| {
            Failure::new(format!("{} serves {authority}, but does not declare it as a provider of tools", package.package))
                .code("no_provider")
                .hint("its manifest needs an entry by which it is found; `toolway android check` with its APK says what is missing")
        })
    }

    /// How long a provider may take to tell its tools.
    pub(crate) fn list_patience() -> Duration {
        Options::default().list_patience
    }
}
