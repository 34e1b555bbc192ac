//! Connects to the phone of a command through `adb`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use toolway_android::host::HostError;
use toolway_android::host::adb::{AdbHost, AdbProgram, PermissionOwner, PhoneInfo};
use toolway_android::prefixes::set_prefixes;
use toolway_android::provider::ToolProvider;
use toolway_android::provider_client::ProviderClient;
use toolway_android::scan::ScanError;
use toolway_android::{BridgeOptions, ProviderHost, ProviderNames, cetp};

use crate::context::CliContext;
use crate::environment::ProcessEnvironment;
use crate::error::{CliError, CliResult};

/// File name of adb.
const ADB: &str = if cfg!(windows) { "adb.exe" } else { "adb" };
/// Variables with the path of Android's SDK, which may contain adb.
const SDK_VARIABLES: [&str; 2] = ["ANDROID_HOME", "ANDROID_SDK_ROOT"];

/// Variables that adb and its server need for paths, language and connections.
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

/// Flags that select the phone.
#[derive(Debug, Clone, Args)]
pub(crate) struct PhoneArgs {
    /// Serial number of the phone as `adb devices` shows it (default: the only phone)
    #[arg(long, value_name = "SERIAL")]
    pub(crate) serial: Option<String>,
}

/// A phone and a client for its providers.
#[derive(Debug, Clone)]
pub(crate) struct PhoneConnection {
    pub(crate) host: AdbHost,
    pub(crate) connection: ProviderClient,
}

/// Properties of a phone.
#[derive(Debug)]
pub(crate) struct PhoneDetails {
    pub(crate) info: PhoneInfo,
    /// App that defines the permission for CETP consumers.
    pub(crate) access_tools: Option<PermissionOwner>,
}

/// Creates a connection to a phone. Sends nothing yet.
pub(crate) fn adb_host(serial: Option<&str>, context: &CliContext) -> CliResult<AdbHost> {
    let environment = &context.environment;
    let path = find_adb(environment).ok_or_else(|| {
        CliError::new("adb not found in PATH")
            .with_code("no_adb")
            .with_hint("install Android's platform tools (Debian: apt-get install adb; macOS: brew install android-platform-tools)")
            .with_hint("or set ANDROID_HOME to the folder of Android's SDK")
    })?;
    // The adb server stays alive with this environment, so it gets only the variables that it needs.
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

/// Converts an error of the phone or of adb.
pub(crate) fn host_error(error: HostError) -> CliError {
    CliError::new(error.message).with_code("adb_failed").with_optional_hint(error.hint)
}

fn scan_error(error: ScanError) -> CliError {
    match error {
        ScanError::Host(error) => host_error(error),
        ScanError::Job(_) => {
            CliError::new(error.to_string()).with_code("adb_failed").with_hint("the phone may be busy; retry")
        }
    }
}

impl PhoneConnection {
    /// Connects to the selected phone.
    pub(crate) fn new(args: &PhoneArgs, context: &CliContext) -> CliResult<Self> {
        let host = adb_host(args.serial.as_deref(), context)?;
        Ok(Self { connection: ProviderClient::new(Arc::new(host.clone())), host })
    }

    /// Runs a slow request to the phone on a blocking thread.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        question: impl FnOnce(&AdbHost) -> Result<T, HostError> + Send + 'static,
    ) -> CliResult<T> {
        let host = self.host.clone();
        let answer = tokio::task::spawn_blocking(move || question(&host)).await;
        answer.map_err(|error| CliError::new(error.to_string()))?.map_err(host_error)
    }

    /// Reads the phone's properties.
    pub(crate) async fn details(&self) -> CliResult<PhoneDetails> {
        self.run_blocking(|host| {
            Ok(PhoneDetails { info: host.info()?, access_tools: host.permission(cetp::PERMISSION)? })
        })
        .await
    }

    /// Scans for providers, all or those of some packages. Assigns prefixes as on a phone without earlier names.
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
        set_prefixes(&names, &mut providers);
        Ok(providers)
    }

    /// Finds the provider of an authority.
    pub(crate) async fn provider(&self, authority: &str, timeout: Duration) -> CliResult<ToolProvider> {
        let named = authority.to_owned();
        let owner = self.run_blocking(move |host| host.resolve(&named)).await?;
        let package = owner.ok_or_else(|| {
            CliError::new(format!("no app on this phone provides {authority}"))
                .with_code("no_provider")
                .with_hint("`toolway android scan` lists the providers")
        })?;
        let found = self.providers(Some(vec![package.package.clone()]), timeout).await?;
        found.into_iter().find(|provider| provider.authority == authority).ok_or_else(|| {
            CliError::new(format!("{} does not declare {authority} as a tool provider", package.package))
                .with_code("no_provider")
                .with_hint("run `toolway android check` with its APK to see which manifest entry is missing")
        })
    }

    /// Timeout for listing a provider's tools.
    pub(crate) fn list_timeout() -> Duration {
        BridgeOptions::default().list_timeout
    }
}
