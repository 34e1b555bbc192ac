//! The phone that a command is about, by way of the program `adb`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use toolway_android::host::HostError;
use toolway_android::host::adb::{AdbHost, AdbProgram, PermissionOwner, PhoneInfo};
use toolway_android::provider::ToolProvider;
use toolway_android::provider_client::ProviderClient;
use toolway_android::scan::ScanError;
use toolway_android::{BridgeOptions, ProviderHost, ProviderNames, cetp};

use crate::context::CliContext;
use crate::environment::ProcessEnvironment;
use crate::error::{CliError, CliResult};

/// What the program is called.
const ADB: &str = if cfg!(windows) { "adb.exe" } else { "adb" };
/// Variables that name the folder of Android's SDK, in which it may lie.
const SDK_VARIABLES: [&str; 2] = ["ANDROID_HOME", "ANDROID_SDK_ROOT"];

/// Variables that adb and its server need: where things lie, and how they are to speak.
const ADB_VARIABLES: &[&str] = &[
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
const ADB_VARIABLE_PREFIXES: &[&str] = &["ADB_", "ANDROID_", "LC_", "LIBUSB_"];

/// Which phone.
#[derive(Debug, Clone, Args)]
pub(crate) struct PhoneArgs {
    /// Serial number of the phone, as `adb devices` shows it; may be left out where there is only one
    #[arg(long, value_name = "SERIAL")]
    pub(crate) serial: Option<String>,
}

/// A phone, and the way to the apps on it.
#[derive(Debug, Clone)]
pub(crate) struct PhoneConnection {
    pub(crate) host: AdbHost,
    pub(crate) connection: ProviderClient,
}

/// What is known of a phone beside its apps.
#[derive(Debug)]
pub(crate) struct PhoneDetails {
    pub(crate) info: PhoneInfo,
    /// Who defines the permission that CETP's consumers need.
    pub(crate) access_tools: Option<PermissionOwner>,
}

/// Reaches a phone; nothing is asked of it yet.
pub(crate) fn adb_host(serial: Option<&str>, context: &CliContext) -> CliResult<AdbHost> {
    let environment = &context.environment;
    let path = find_adb(environment).ok_or_else(|| {
        CliError::new("there is no program adb on the PATH")
            .with_code("no_adb")
            .with_hint("install Android's platform tools (Debian: apt-get install adb; macOS: brew install android-platform-tools)")
            .with_hint("or set ANDROID_HOME to the folder of Android's SDK")
    })?;
    // Its server lives on with what it is given, so that is only what it needs.
    let needed = environment.variables_map().into_iter().filter(|(name, _)| is_adb_variable(name));
    let program = AdbProgram { path, environment: needed.collect() };
    Ok(AdbHost::new(program, serial.map(str::to_owned)))
}

fn is_adb_variable(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy().to_ascii_uppercase();
    ADB_VARIABLES.contains(&name.as_str())
        || ADB_VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn find_adb(environment: &ProcessEnvironment) -> Option<PathBuf> {
    let on_path = environment.variable("PATH").map(std::env::split_paths).into_iter().flatten();
    let in_sdk = SDK_VARIABLES
        .iter()
        .filter_map(|name| environment.variable(name))
        .map(|it| PathBuf::from(it).join("platform-tools"));
    on_path.chain(in_sdk).map(|folder| folder.join(ADB)).find(|path| path.is_file())
}

/// A failure of the phone, or of the way to it.
pub(crate) fn host_error(error: HostError) -> CliError {
    CliError::new(error.message).with_code("adb_failed").with_optional_hint(error.hint)
}

fn scan_error(error: ScanError) -> CliError {
    match error {
        ScanError::Host(error) => host_error(error),
        ScanError::Job(_) => {
            CliError::new(error.to_string()).with_code("adb_failed").with_hint("it may be busy; try again")
        }
    }
}

impl PhoneConnection {
    /// The phone that is meant.
    pub(crate) fn new(args: &PhoneArgs, context: &CliContext) -> CliResult<Self> {
        let host = adb_host(args.serial.as_deref(), context)?;
        Ok(Self { connection: ProviderClient::new(Arc::new(host.clone())), host })
    }

    /// Asks the phone something that takes its time.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        question: impl FnOnce(&AdbHost) -> Result<T, HostError> + Send + 'static,
    ) -> CliResult<T> {
        let host = self.host.clone();
        let answer = tokio::task::spawn_blocking(move || question(&host)).await;
        answer.map_err(|error| CliError::new(error.to_string()))?.map_err(host_error)
    }

    /// What it is.
    pub(crate) async fn details(&self) -> CliResult<PhoneDetails> {
        self.run_blocking(|host| {
            Ok(PhoneDetails { info: host.info()?, access_tools: host.permission(cetp::PERMISSION)? })
        })
        .await
    }

    /// The providers on it, or those of these packages, named as on a phone where nothing was named before.
    pub(crate) async fn providers(
        &self,
        packages: Option<Vec<String>>,
        timeout: Duration,
    ) -> CliResult<Vec<ToolProvider>> {
        let mut providers =
            toolway_android::scan::scan(&self.connection, packages, timeout).await.map_err(scan_error)?;
        let mut names = ProviderNames::default();
        let claims: Vec<_> =
            providers.iter().filter(|it| !it.has_invalid_declaration()).map(ToolProvider::claim).collect();
        names.assign(&claims);
        for provider in &mut providers {
            provider.prefix = names.get(&provider.owner()).map(str::to_owned);
        }
        Ok(providers)
    }

    /// The provider that serves an authority.
    pub(crate) async fn provider(&self, authority: &str, timeout: Duration) -> CliResult<ToolProvider> {
        let named = authority.to_owned();
        let owner = self.run_blocking(move |host| host.resolve(&named)).await?;
        let package = owner.ok_or_else(|| {
            CliError::new(format!("nobody on this phone serves {authority}"))
                .with_code("no_provider")
                .with_hint("`toolway android scan` lists who is there")
        })?;
        let found = self.providers(Some(vec![package.package.clone()]), timeout).await?;
        found.into_iter().find(|provider| provider.authority == authority).ok_or_else(|| {
            CliError::new(format!("{} serves {authority}, but does not declare it as a provider of tools", package.package))
                .with_code("no_provider")
                .with_hint("its manifest needs an entry by which it is found; `toolway android check` with its APK says what is missing")
        })
    }

    /// How long a provider may take to tell its tools.
    pub(crate) fn list_timeout() -> Duration {
        BridgeOptions::default().list_timeout
    }
}
